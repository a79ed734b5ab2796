// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tune/settings/settings.hpp"

namespace hpo::tune {

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

/// By `--workers` and `--threads`. Without them, a GPU whose memory a guard plans gets as many workers as the host bears: memory then
/// decides how many of them work at a time. Any other GPU gets one. Several devices share the workers and the cores. Throws
/// Error{bad_value} for fewer workers than devices.
[[nodiscard]] Parallelism parallelism(const Settings& settings, const std::string& device, const AmongDevices& among = {});

/// What the settings ask of this machine beyond what it has, in words: memory of a CPU device, threads.
[[nodiscard]] std::vector<std::string> beyond_machine(const Settings& settings, const std::string& device);

}  // namespace hpo::tune
