// SPDX-License-Identifier: MIT
#pragma once

#include "hpo/trainer/executor.hpp"
#include "hpo/trainer/trainer.hpp"
#include "hpo/worker/environment.hpp"
#include "hpo/worker/pool_config.hpp"
#include "hpo/worker/process.hpp"

namespace hpo::worker {

/// How a pool starts a worker.
[[nodiscard]] ProcessSpec worker_process(const PoolConfig& config, Environment environment);

/// A job as the worker's trainer gets it.
[[nodiscard]] TrainerJob trainer_job(const PoolConfig& config, const TrainerInfo& info, const Job& job);

}  // namespace hpo::worker

#ifndef HPO_COMPILED
#include "hpo/worker/impl/orders_inl.hpp"
#endif
