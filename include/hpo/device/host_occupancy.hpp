// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include "hpo/device/host_memory.hpp"
#include "hpo/device/occupancy.hpp"
#include "hpo/device/process_name.hpp"

namespace hpo::device {

/// Host memory as a device, with all processes that /proc shows. Its capacity is that of the machine, or that of the control group if it is
/// less. Reads a file for each process. Returns nullopt if /proc is not mounted.
[[nodiscard]] inline std::optional<Occupancy> host_occupancy(const std::filesystem::path& root = "/") {
    const auto memory = host_memory(root);
    if (!memory) return std::nullopt;
    Occupancy occupancy{memory->total, memory->total - memory->available, {}};
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator{root / "proc", ignored}) {
        const std::string name = entry.path().filename().string();
        std::int64_t pid = 0;
        const auto [end, status] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (status != std::errc{} || end != name.data() + name.size()) continue;
        if (const std::int64_t bytes = own_host_bytes(pid, root); bytes > 0) occupancy.processes.push_back({pid, bytes});
    }
    return occupancy;
}

}  // namespace hpo::device
