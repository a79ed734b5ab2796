// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>

#include "hpo/core/field.hpp"

namespace hpo::tools {

/// For whole numbers of at least `least`: CLI11's own check speaks of a range of doubles, with all their digits, and its conversion takes
/// an empty text for 0.
[[nodiscard]] inline CLI::Validator at_least(std::int64_t least) {
    return CLI::Validator{[least](const std::string& text) {
                              const auto value = field_traits<std::int64_t>::parse(text);
                              if (value && *value >= least) return std::string{};
                              return "got '" + text + "'; expected a whole number of at least " + std::to_string(least);
                          },
                          least == 1 ? "POSITIVE" : "NUMBER"};
}

}  // namespace hpo::tools
