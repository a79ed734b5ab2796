// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace hpo::device {

/// Host memory, in bytes: the machine's, or a control group's where that is less.
struct HostMemory {
    std::int64_t total = 0;
    std::int64_t available = 0;  ///< without swapping; what the kernel keeps of files and can drop counts as available
    bool limited_by_cgroup = false;
};

/// Reads /proc/meminfo and the limits of the process's own control group and of all above it (version 2, or version 1's memory
/// controller): a slice, a job or a pod may have less left than what is in it. Nothing where /proc is not mounted.
[[nodiscard]] std::optional<HostMemory> host_memory(const std::filesystem::path& root = "/");

}  // namespace hpo::device

#ifndef HPO_COMPILED
#include "hpo/device/impl/host_memory_inl.hpp"
#endif
