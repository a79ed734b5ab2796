// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hpo/core/runs_on.hpp"
#include "hpo/core/trial.hpp"

namespace hpo::memory {

/// Attempts whose predictions are wrong in the same way, and those whose predictions are wrong in similar ways.
struct ResidualGroup {
    std::string pool;    ///< what predicted, and for which device: "dry_run NVIDIA H100 80GB HBM3", "dry_run cuda" where nobody knows
    std::string family;  ///< model_family
};

[[nodiscard]] ResidualGroup residual_group(const std::string& source, const RunsOn& runs_on, const ParamSet& params,
                                           const ExecutionPlan& plan);

/// What an attempt says of its prediction: log(true need / predicted need), or a bound that this is above of.
struct Residual {
    ResidualGroup group;
    double log_ratio = 0;
    bool censored = false;  ///< right-censored at `log_ratio`
};

/// What an attempt needed of the allocator, in bytes: `least` without what its process held beyond it, `most` with that.
struct MeasuredNeed {
    std::int64_t least = 0;
    std::int64_t most = 0;
};

/// The measured need of an attempt; nothing where no peak was measured.
[[nodiscard]] std::optional<MeasuredNeed> measured_need(const Attempt& attempt);

/// The least that an attempt which ran out of memory needs of its device: what it held and asked for, and the room that was not enough.
/// What its process held beyond the attempt is taken off. Nothing where the failure says nothing about the configuration.
[[nodiscard]] std::optional<std::int64_t> least_need(const Attempt& attempt);

/// The residual of one attempt, whose parameters are needed where its family was not recorded. Attempts that ended well, or were pruned,
/// are observations; those that ran out of memory of their own doing are censored ones. Nothing when nothing was predicted or nobody knows
/// what it needed.
///
/// It is 0 where the measured need (`measured_need`) can be what was predicted, from need to comfort. Else it is the smallest error that
/// the measurement leaves possible. So memory that is held beyond the attempt never makes a prediction wrong.
[[nodiscard]] std::optional<Residual> residual_of(const ParamSet& params, const Attempt& attempt);
[[nodiscard]] inline std::optional<Residual> residual_of(const Trial& trial, const Attempt& attempt) {
    return residual_of(params_of(trial, attempt), attempt);
}

}  // namespace hpo::memory

#ifndef HPO_COMPILED
#include "hpo/memory/impl/residual_observation_inl.hpp"
#endif
