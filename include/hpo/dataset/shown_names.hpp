// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/shown_text.hpp"

namespace hpo::dataset {

/// The first names of a list, few enough for a message.
[[nodiscard]] inline std::vector<std::string> first_names(std::vector<std::string> names) {
    constexpr std::size_t most = 20;
    if (names.size() > most) {
        const std::string more = "and " + std::to_string(names.size() - most) + " more";
        names.resize(most);
        names.push_back(more);
    }
    return names;
}

/// Names of columns or labels, shortened for a message.
[[nodiscard]] inline std::vector<std::string> shown_names(std::span<const std::string> names) {
    std::vector<std::string> list;
    for (const std::string& name : names) list.push_back(shown(name));
    return first_names(std::move(list));
}

}  // namespace hpo::dataset
