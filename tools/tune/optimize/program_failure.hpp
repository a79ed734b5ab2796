// SPDX-License-Identifier: MIT
#pragma once

#include "hpo/core/failure.hpp"

namespace hpo::tune {

/// True for failures of memory, of the process or of the device. They are the reason why trials of a program have processes of their own,
/// so they end no study. What an objective raises otherwise does, as in Optuna.
[[nodiscard]] constexpr bool costs_its_trial_alone(FailureKind kind) {
    switch (kind) {
        case FailureKind::out_of_memory:
        case FailureKind::host_out_of_memory:
        case FailureKind::predicted_oom:
        case FailureKind::cuda_sticky:
        case FailureKind::cuda_transient:
        case FailureKind::hardware:
        case FailureKind::timeout:
        case FailureKind::crash:
        case FailureKind::lost_worker: return true;
        default: return false;
    }
}

}  // namespace hpo::tune
