// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace hpo::device {

/// Host memory, in bytes: the machine's, or the cgroup's where that is less.
struct HostMemory {
    std::int64_t total = 0;
    std::int64_t available = 0;
    bool limited_by_cgroup = false;
};

namespace detail {

[[nodiscard]] inline std::optional<std::int64_t> number_in(const std::filesystem::path& file) {
    std::ifstream in{file};
    std::int64_t value = 0;
    if (in >> value) return value;  // "max" is no number: no limit
    return std::nullopt;
}

}  // namespace detail

/// Reads /proc/meminfo and the limits of the process's own cgroup (version 2, or version 1's memory controller). Nothing
/// where /proc is not mounted.
[[nodiscard]] inline std::optional<HostMemory> host_memory(const std::filesystem::path& root = "/") {
    std::ifstream in{root / "proc/meminfo"};
    HostMemory memory;
    std::string word;
    while (in >> word) {
        std::int64_t kib = 0;
        if (word == "MemTotal:" && in >> kib) memory.total = kib * 1024;
        if (word == "MemAvailable:" && in >> kib) memory.available = kib * 1024;
    }
    if (memory.total <= 0) return std::nullopt;

    std::ifstream membership{root / "proc/self/cgroup"};
    std::string line;
    while (std::getline(membership, line)) {
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const std::string path = line.substr(std::min(second + 2, line.size()));
        const bool unified = controllers.empty();
        if (!unified && controllers.find("memory") == std::string::npos) continue;
        const auto folder = root / (unified ? "sys/fs/cgroup" : "sys/fs/cgroup/memory") / path;
        const auto limit = detail::number_in(folder / (unified ? "memory.max" : "memory.limit_in_bytes"));
        const auto used = detail::number_in(folder / (unified ? "memory.current" : "memory.usage_in_bytes"));
        if (!limit || *limit >= memory.total) continue;
        memory.total = *limit;
        memory.limited_by_cgroup = true;
        if (used) memory.available = std::clamp<std::int64_t>(*limit - *used, 0, memory.available);
    }
    return memory;
}

}  // namespace hpo::device
