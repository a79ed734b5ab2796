// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "hpo/trainer/device_finding.hpp"
#include "hpo/worker/supervisor/describe.hpp"

namespace hpo::tune {

/// What of this machine runs out in long studies: room in /dev/shm and beside the store, and open files. Changes nothing.
[[nodiscard]] std::vector<DeviceFinding> machine_findings(const std::filesystem::path& store_folder);

/// Which device to measure, and by whom.
struct MeasurementRequest {
    std::string device;   ///< cpu, cuda or cuda:N
    std::string trainer;  ///< empty: the first that can
    std::vector<std::string> plugin_dirs;
    std::chrono::milliseconds plugin_timeout{};
};

/// What other processes hold of a device, and what a trainer finds when it measures the device in a worker: see Trainer::measure. Last,
/// whether a GPU gets back what the worker held. If nothing can be measured, a bad finding says why. Throws Error{bad_value} for a text
/// that names no device, and Error{unknown_name} for an unknown trainer.
[[nodiscard]] std::vector<DeviceFinding> measured_findings(const MeasurementRequest& request, const worker::WorkerDescription& described);

}  // namespace hpo::tune
