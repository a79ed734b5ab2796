// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>

#include "hpo/core/field.hpp"

namespace hpo::tools {

/// For whole numbers of at least 1: CLI11's own check speaks of a range of doubles, with all their digits.
[[nodiscard]] inline CLI::Validator at_least_one() {
    return CLI::Validator{[](const std::string& text) {
                              const auto value = field_traits<std::int64_t>::parse(text);
                              return value && *value >= 1 ? std::string{} : "got '" + text + "'; expected a whole number of at least 1";
                          },
                          "POSITIVE"};
}

}  // namespace hpo::tools
