// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/store/configurations.hpp"

namespace hpo::tools {

/// "(trials 4, 7, 8)": those of one configuration, which differ in their seed alone.
[[nodiscard]] inline std::string trials_text(const SeedTrials& seeds) {
    std::vector<std::string> numbers;
    for (const std::int64_t number : seeds.numbers()) numbers.push_back(std::to_string(number));
    return "(trials " + join_names(numbers) + ")";
}

}  // namespace hpo::tools
