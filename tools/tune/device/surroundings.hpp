// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hpo/worker/supervisor/pool_config.hpp"
#include "tune/device/own_trainer.hpp"
#include "tune/settings/settings.hpp"

namespace hpo::tune {

/// "cpu" or "cuda:N" for a device as people write it. Throws Error{bad_value, no_device} for what the trainer or the machine lacks.
[[nodiscard]] std::string usable_device(const std::string& place, const std::string& text, const TrainerInfo& info);

/// "cpu" or "cuda:N" for the first device of the settings, for commands that use one; auto takes the card with the most free memory where
/// the trainer can use one.
[[nodiscard]] std::string chosen_device(const Settings& settings, const TrainerInfo& info);

/// The same for plans that are only predicted: `cuda` and `cuda:N` stay what they are, also where this machine lacks them.
[[nodiscard]] std::string estimated_device(const Settings& settings, const TrainerInfo& info);

/// What the driver or the system calls "cpu" or "cuda:N"; empty: it does not say.
[[nodiscard]] std::string device_name(const std::string& device);

/// Sets what the workers' predictions for a device need to know of it: cuBLAS's workspace, the context of a virtual card, and the virtual
/// card that `PeakSource::virtual_card` asks.
void describe_device(worker::PoolConfig& config, const Settings& settings, const TrainerInfo& info);

/// The memory that the settings give to the first device, or to `device`, checked. Nothing: not limited.
[[nodiscard]] std::optional<std::int64_t> device_budget(const Settings& settings, std::string_view device = {});

/// Makes the allocator settings that workers on a GPU would inherit from this program's environment the plan's own, where it has none: then
/// predictions know them, too.
void inherit_allocator_settings(ExecutionPlan& plan);

/// Says why the trainer's LibTorch does not know the allocator settings to which a plan changes. Nothing where it does, and where its
/// version is not known.
[[nodiscard]] std::optional<std::string> refused_allocator(const ExecutionPlan& from, const ExecutionPlan& to, const TrainerInfo& info);

/// What all trials together may have of a device: the settings' device memory, else what a GPU has. Nothing: not known.
[[nodiscard]] std::optional<std::int64_t> device_capacity(const Settings& settings, const std::string& device);

/// TrainerJob::objectives: none where there is only one.
[[nodiscard]] std::vector<std::string> several_objectives(const Settings& settings);
/// How a worker of the study's trainer is started; it may take `--plugin-timeout` to come up, and again for each check.
[[nodiscard]] worker::PoolConfig pool_config(const Settings& settings, const TrainerInfo& info);

/// The same for a worker that only answers questions about the memory of attempts on `device`: each answer, for whose first it reads
/// its data, may take `--plugin-timeout`.
[[nodiscard]] worker::PoolConfig question_config(const Settings& settings, const TrainerInfo& info, const std::string& device);

/// Workers and threads of each.
struct Parallelism {
    std::size_t workers = 1;
    int threads = 1;
};
/// The place of a device among those that a run uses at once.
struct AmongDevices {
    std::size_t devices = 1;
    std::size_t place = 0;
};
/// What the settings ask of this machine beyond what it has, in words: memory of a CPU device, threads.
[[nodiscard]] std::vector<std::string> beyond_machine(const Settings& settings, const std::string& device);
/// By `--workers` and `--threads`. Without them, a GPU whose memory a guard plans gets as many workers as the host bears: memory then
/// decides how many of them work at a time. Any other GPU gets one. Several devices share the workers and the cores. Throws
/// Error{bad_value} for fewer workers than devices.
[[nodiscard]] Parallelism parallelism(const Settings& settings, const std::string& device, const AmongDevices& among = {});

}  // namespace hpo::tune
