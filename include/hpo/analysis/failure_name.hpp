// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "hpo/analysis/failure_case.hpp"

namespace hpo::analysis {

/// CUDA's code of a device-side assert.
inline constexpr std::int64_t device_assert_code = 710;

/// The one name of a failure in all that tools print and count. It is the kind, which a rule sees as `failure.kind`, with two exceptions.
/// `device_assert` is cuda_sticky with code 710. `prevented` is predicted_oom.
[[nodiscard]] inline std::string_view failure_name(const Failure& failure) {
    if (failure.kind == FailureKind::predicted_oom) return "prevented";
    if (failure.kind == FailureKind::cuda_sticky && failure.code == device_assert_code) return "device_assert";
    return to_text(failure.kind);
}

/// The same where other trials are known, too. `victim` failed because its process was already poisoned. `no_message` left none; if Optuna
/// gave it up, it is `vanished`. `not_run` was ended instead of being started.
[[nodiscard]] inline std::string_view failure_name(const FailureCase& entry) {
    if (entry.silent()) return entry.repeated_by ? "vanished" : "no_message";
    if (entry.not_run()) return "not_run";
    return entry.victim ? "victim" : failure_name(entry.failure);
}

}  // namespace hpo::analysis
