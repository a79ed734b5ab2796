// SPDX-License-Identifier: MIT
#pragma once

#include "hpo/trainer/executor.hpp"
#include "hpo/trainer/trainer.hpp"
#include "hpo/worker/environment.hpp"
#include "hpo/worker/supervisor/pool_config.hpp"
#include "hpo/worker/supervisor/process.hpp"

namespace hpo::worker {

/// How a pool starts a worker.
[[nodiscard]] ProcessSpec worker_process(const PoolConfig& config, Environment environment);

/// The job for the trainer of a worker.
[[nodiscard]] TrainerJob trainer_job(const PoolConfig& config, const TrainerInfo& info, const Job& job);

}  // namespace hpo::worker
