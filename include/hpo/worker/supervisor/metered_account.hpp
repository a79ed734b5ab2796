// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "hpo/device/metered_device.hpp"
#include "hpo/device/orphaned_files.hpp"

namespace hpo::worker {

/// Makes a metered device with its account in `folder`. Removes the accounts of supervisors that were killed.
[[nodiscard]] inline device::MeteredDevice make_metered_device(const std::filesystem::path& folder, std::int64_t capacity_bytes) {
    static constexpr std::string_view prefix = "hpo-device-";  // then PID-NUMBER
    static std::atomic<int> made = 0;
    device::remove_orphaned_files(folder, prefix);
    std::error_code ignored;
    const std::string name = std::string{prefix} + std::to_string(::getpid()) + "-" + std::to_string(made++);
    std::filesystem::remove(folder / name, ignored);  // left by an earlier process with the same pid
    return device::MeteredDevice::create(folder / name, capacity_bytes);
}

}  // namespace hpo::worker
