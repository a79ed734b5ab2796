// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hpo/core/runs_on.hpp"
#include "hpo/core/trial.hpp"

namespace hpo::memory::inline calibration {

/// The group of an attempt. Predictions in one family are wrong in the same way, predictions in one pool in similar ways.
struct ResidualGroup {
    std::string pool;    ///< the source and the device: "dry_run NVIDIA H100 80GB HBM3"; "dry_run cuda" if the name is unknown
    std::string family;  ///< model_family
};

[[nodiscard]] ResidualGroup residual_group(const std::string& source, const RunsOn& runs_on, const ParamSet& params,
                                           const ExecutionPlan& plan);

/// The comparable_error of an attempt's prediction, or a lower bound of it. For most sources it is log(true need / predicted need).
struct Residual {
    ResidualGroup group;
    double log_ratio = 0;
    bool censored = false;  ///< `log_ratio` is a lower bound (right-censored)
};

/// What an attempt needed of the allocator, in bytes. Its process may hold memory beyond the attempt: `least` leaves this out, `most`
/// includes it.
struct MeasuredNeed {
    std::int64_t least = 0;
    std::int64_t most = 0;
};

/// The measured need of an attempt. Returns nullopt if no peak was measured.
[[nodiscard]] std::optional<MeasuredNeed> measured_need(const Attempt& attempt);

/// A lower bound of what an attempt that ran out of memory needs of its device. It comes from the memory that the attempt held and
/// requested, and from the memory that was not enough. What its process held beyond the attempt is subtracted. Returns nullopt if the
/// failure says nothing about the configuration.
[[nodiscard]] std::optional<std::int64_t> least_need(const Attempt& attempt);

/// The residual of one attempt. `params` are needed only if the attempt has no recorded family. An attempt that completed or was pruned is
/// an observation. An attempt that ran out of memory because of its own configuration is a censored one. Returns nullopt if there was no
/// prediction, or if the need is unknown.
///
/// The error is a comparable_error.
///
/// The residual is 0 if the measured need (`measured_need`) can be what was predicted, from need to comfort. Else it is the smallest error
/// that agrees with the measurement. So memory that is held beyond the attempt never makes a prediction wrong.
[[nodiscard]] std::optional<Residual> residual_of(const ParamSet& params, const Attempt& attempt);
[[nodiscard]] inline std::optional<Residual> residual_of(const Trial& trial, const Attempt& attempt) {
    return residual_of(params_of(trial, attempt), attempt);
}

}  // namespace hpo::memory::calibration

#ifndef HPO_COMPILED
#include "hpo/memory/calibration/impl/observation_inl.hpp"
#endif
