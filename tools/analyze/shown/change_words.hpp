// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "hpo/analysis/changes/change.hpp"

namespace hpo::analyze {

inline constexpr const char* no_change_text = "no single change is known to fit";

/// How a change is known; `witnesses` are those of all attempts that it is said of.
[[nodiscard]] inline std::string basis_text(hpo::analysis::Change::Basis basis, const std::set<std::int64_t>& witnesses) {
    switch (basis) {
        case hpo::analysis::Change::Basis::attempt: return "a later attempt ran so";
        case hpo::analysis::Change::Basis::cure: return "others of this cause ran so later";
        case hpo::analysis::Change::Basis::peaks: return "by the other trials' peaks";
        case hpo::analysis::Change::Basis::figures: return "not tried";
        case hpo::analysis::Change::Basis::trial: break;
    }
    std::string text = witnesses.size() == 1 ? "trial " : "trials ";
    std::size_t told = 0;
    for (const std::int64_t number : witnesses) {
        if (told == 3) return text + " and " + std::to_string(witnesses.size() - told) + " more ran so";
        text += (told++ > 0 ? ", " : "") + std::to_string(number);
    }
    return text + " ran so";
}

[[nodiscard]] inline std::string basis_text(const hpo::analysis::Change& change) {
    return basis_text(change.basis, {change.witness.value_or(-1)});
}

}  // namespace hpo::analyze
