// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "hpo/analysis/failure_case.hpp"

namespace hpo::analysis {

/// CUDA's code of a device-side assert.
inline constexpr std::int64_t device_assert_code = 710;

/// The one name of a failure in everything that tools print and count: its kind, which is also what a rule sees as `failure.kind`, but
/// `device_assert` for that one of the kind cuda_sticky, and `prevented` for a refusal before launch, of the kind predicted_oom.
[[nodiscard]] inline std::string_view failure_name(const Failure& failure) {
    if (failure.kind == FailureKind::predicted_oom) return "prevented";
    if (failure.kind == FailureKind::cuda_sticky && failure.code == device_assert_code) return "device_assert";
    return to_text(failure.kind);
}

/// The same where other trials are known, too: `victim` for one that failed because its process was already poisoned, `no_message` for one
/// that left none, and `vanished` if Optuna gave it up then.
[[nodiscard]] inline std::string_view failure_name(const FailureCase& entry) {
    if (entry.silent()) return entry.repeated_by ? "vanished" : "no_message";
    return entry.victim ? "victim" : failure_name(entry.failure);
}

}  // namespace hpo::analysis
