// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "hpo/allocator/trace_law.hpp"

/// @file
/// When recordings of a program on a virtual card are enough to foretell what it takes with other sizes
/// (docs/measurements/program-laws.md).

namespace hpo::command {

inline constexpr std::size_t usual_recordings = 6;  ///< of a family; more only if these leave a law in doubt
inline constexpr std::size_t most_recordings = 12;
/// Before so many, recordings may agree by chance: with three sizes, four that agree have foretold others that were off by a fifth.
[[nodiscard]] constexpr std::size_t least_recordings(std::size_t sizes) {
    return std::min(usual_recordings, 3 + std::max<std::size_t>(1, sizes));
}
inline constexpr double little_error = 0.01;  ///< the share by which what was foretold may differ from what was recorded

/// How a law was off the latest two recordings, which it then took in. It needs four recordings.
[[nodiscard]] inline double latest_error(const hpo::allocator::TraceLaw& law) {
    const std::vector<double>& errors = law.errors();
    return std::max(errors.back(), errors[errors.size() - 2]);
}

/// True if the law may be asked about these sizes.
[[nodiscard]] inline bool may_predict(const hpo::allocator::TraceLaw& law, const std::vector<double>& numbers) {
    if (law.recordings() < least_recordings(numbers.size()) || !law.covers(numbers)) return false;
    return law.recordings() >= usual_recordings || latest_error(law) <= little_error;
}

/// True if its answer counts, although other laws that fit as well may differ by the share `doubt`.
[[nodiscard]] inline bool is_predicted(const hpo::allocator::TraceLaw& law, double doubt) {
    constexpr double too_much = 0.03;
    return std::max(doubt, latest_error(law)) <= (law.recordings() < usual_recordings ? little_error : too_much);
}

}  // namespace hpo::command
