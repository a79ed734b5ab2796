// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/seed.hpp"
#include "hpo/guard/calibration/model_family.hpp"
#include "hpo/store/retries.hpp"
#include "hpo/trainer/executor.hpp"
#include "hpo/tuner/devices/reservation.hpp"
#include "hpo/tuner/options.hpp"

namespace hpo::tuner {

/// Writes into an attempt where it runs, and how large the device is.
inline void describe(Attempt& attempt, const ParamSet& params, const Executor& executor) {
    const RunsOn runs_on = executor.runs_on();
    attempt.capacity_bytes = executor.capacity_bytes();
    attempt.device_name = runs_on.device_name;
    attempt.model_family = guard::model_family(runs_on.trainer, params, attempt.plan);
}

/// The devices of a trial's attempts, the latest last.
[[nodiscard]] inline std::vector<std::string> devices_of(const Trial& trial) {
    std::vector<std::string> devices;
    for (const Attempt& attempt : trial.attempts) devices.push_back(attempt.plan.device);
    return devices;
}

/// The job of a trial's latest attempt, for the executor. `reserved` are the bytes of the device that the attempt may hold. It is nullopt
/// if no memory is reserved for it.
[[nodiscard]] inline Job job_of(const Study& study, const Trial& trial, std::optional<std::int64_t> reserved, const TuneOptions& options) {
    const Attempt& attempt = trial.attempts.back();
    ExecutionPlan plan = attempt.plan;
    if (reserved || attempt.capacity_bytes)
        plan.cap_bytes = cap_under_reservation(attempt, reserved ? *reserved : *attempt.capacity_bytes, attempt.capacity_bytes);
    return {.study = study.name,
            .trial = trial.number,
            .attempt = attempt.index,
            .params = params_of(trial, attempt),
            .plan = std::move(plan),
            .seed = Seed{options.seed}.derive(static_cast<std::uint64_t>(first_of_line(trial))).derive("trainer").value,
            .fresh_worker = attempt.fresh_worker,
            .checkpoint_folder = options.checkpoint_folder ? options.checkpoint_folder(trial) : std::string{},
            .resume_step = attempt.resumed_step,
            .model_folder = options.model_folder ? options.model_folder(trial.number) : std::string{},
            .prunes_itself = options.asks_while_running()};
}

}  // namespace hpo::tuner
