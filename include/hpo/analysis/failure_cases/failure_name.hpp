// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "hpo/analysis/failure_cases/failure_case.hpp"

namespace hpo::analysis {

/// CUDA's code of a device-side assert.
inline constexpr std::int64_t device_assert_code = 710;

/// A failure's name in everything that tools print and count. It is the kind, which a rule sees as `failure.kind`, with two exceptions.
/// `device_assert` is cuda_sticky with code 710. `prevented` is predicted_oom.
[[nodiscard]] inline std::string_view failure_name(const Failure& failure) {
    if (failure.kind == FailureKind::predicted_oom) return "prevented";
    if (failure.kind == FailureKind::cuda_sticky && failure.code == device_assert_code) return "device_assert";
    return to_text(failure.kind);
}

/// The same if other trials are known, too. It adds four names. `victim`: the process was already poisoned. `no_message`: no message was
/// left. `vanished`: no message, and Optuna gave the trial up. `not_run`: it was ended before it started.
[[nodiscard]] inline std::string_view failure_name(const FailureCase& entry) {
    if (entry.silent()) return entry.repeated_by ? "vanished" : "no_message";
    if (entry.not_run()) return "not_run";
    return entry.victim ? "victim" : failure_name(entry.failure);
}

}  // namespace hpo::analysis
