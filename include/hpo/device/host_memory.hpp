// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace hpo::device {

/// Host memory in bytes: that of the machine, or that of a control group if it is less.
struct HostMemory {
    std::int64_t total = 0;
    std::int64_t available = 0;  ///< without swapping; cached files that the kernel can drop count as available
    bool limited_by_cgroup = false;
};

/// Reads /proc/meminfo and the limits of the process's own control group and of all groups above it (version 2, or the memory controller of
/// version 1). A slice, a job or a pod may have less memory left than a group inside it. Returns nullopt if /proc is not mounted.
[[nodiscard]] std::optional<HostMemory> host_memory(const std::filesystem::path& root = "/");

}  // namespace hpo::device
