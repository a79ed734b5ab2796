// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "hpo/core/process_identity.hpp"
#include "hpo/device/metered_device.hpp"

namespace hpo::worker {

/// Makes a metered device whose account lies in `folder`, and removes the accounts of supervisors that were killed.
[[nodiscard]] inline device::MeteredDevice make_metered_device(const std::filesystem::path& folder, std::int64_t capacity_bytes) {
    static constexpr std::string_view prefix = "hpo-device-";  // then PID-NUMBER
    static std::atomic<int> made = 0;
    std::error_code ignored;
    for (const auto& item : std::filesystem::directory_iterator{folder, ignored}) {
        const std::string name = item.path().filename().string();
        if (!name.starts_with(prefix)) continue;
        std::int64_t pid = 0;
        std::from_chars(name.data() + prefix.size(), name.data() + name.size(), pid);
        if (pid > 0 && !identify_process(pid)) std::filesystem::remove(item.path(), ignored);
    }
    const std::string name = std::string{prefix} + std::to_string(::getpid()) + "-" + std::to_string(made++);
    std::filesystem::remove(folder / name, ignored);  // of an earlier process with our number
    return device::MeteredDevice::create(folder / name, capacity_bytes);
}

}  // namespace hpo::worker
