// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "hpo/worker/supervisor/pool_config.hpp"
#include "tune/settings/settings.hpp"

namespace hpo::tune {

/// TrainerJob::objectives: none where there is only one.
[[nodiscard]] std::vector<std::string> several_objectives(const Settings& settings);

/// Sets what the workers' predictions for a device need to know of it: cuBLAS's workspace, the context of a virtual card, and the virtual
/// card that `PeakSource::virtual_card` asks.
void describe_device(worker::PoolConfig& config, const Settings& settings, const TrainerInfo& info);

/// How a worker of the study's trainer is started; it may take `--plugin-timeout` to come up, and again for each check.
[[nodiscard]] worker::PoolConfig pool_config(const Settings& settings, const TrainerInfo& info);

/// The same for a worker that only answers questions about the memory of attempts on `device`. Each answer may take `--plugin-timeout`; for
/// the first one the worker reads its data.
[[nodiscard]] worker::PoolConfig question_config(const Settings& settings, const TrainerInfo& info, const std::string& device);

}  // namespace hpo::tune
