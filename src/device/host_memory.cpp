// SPDX-License-Identifier: MIT
#include "hpo/device/host_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/device/control_groups.hpp"

namespace hpo::device::detail {

[[nodiscard]] std::optional<std::int64_t> number_in(const std::filesystem::path& file) {
    std::ifstream in{file};
    std::int64_t value = 0;
    if (in >> value) return value;  // "max" is no number and means no limit
    return std::nullopt;
}

/// The bytes of a control group that the kernel can take back when memory runs short, by its memory.stat: cached pages of files, and caches
/// of names. Memory of processes, tmpfs and shared memory does not count. MemAvailable of /proc/meminfo counts the same kinds for the whole
/// machine.
[[nodiscard]] std::int64_t reclaimable_bytes(const std::filesystem::path& memory_stat) {
    std::ifstream in{memory_stat};
    std::int64_t sum = 0;
    std::int64_t sum_with_children = 0;
    std::string name;
    std::int64_t bytes = 0;
    while (in >> name >> bytes) {
        const bool with_children = name.starts_with("total_");  // version 1; in version 2 every number includes the child groups
        const std::string_view kind = std::string_view{name}.substr(with_children ? 6 : 0);
        if (kind != "inactive_file" && kind != "active_file" && kind != "slab_reclaimable") continue;
        (with_children ? sum_with_children : sum) += bytes;
    }
    return std::max(sum, sum_with_children);
}

/// Lowers `memory` to what one control group leaves. A limit of `machine_bytes` or more counts as no limit.
void limit_by_cgroup(HostMemory& memory, const std::filesystem::path& folder, bool unified, std::int64_t machine_bytes) {
    const auto limit = number_in(folder / (unified ? "memory.max" : "memory.limit_in_bytes"));
    if (!limit || *limit >= machine_bytes) return;
    memory.total = std::min(memory.total, *limit);
    memory.limited_by_cgroup = true;
    const auto used = number_in(folder / (unified ? "memory.current" : "memory.usage_in_bytes"));
    const std::int64_t kept = used ? std::max<std::int64_t>(0, *used - reclaimable_bytes(folder / "memory.stat")) : 0;
    memory.available = std::clamp<std::int64_t>(*limit - kept, 0, memory.available);
}

}  // namespace hpo::device::detail

namespace hpo::device {

std::optional<HostMemory> host_memory(const std::filesystem::path& root) {
    std::ifstream in{root / "proc/meminfo"};
    HostMemory memory;
    std::string word;
    while (in >> word) {
        std::int64_t kib = 0;
        if (word == "MemTotal:" && in >> kib) memory.total = kib * 1024;
        if (word == "MemAvailable:" && in >> kib) memory.available = kib * 1024;
    }
    if (memory.total <= 0) return std::nullopt;

    const std::int64_t machine_bytes = memory.total;
    for (const ControlGroup& group : own_control_groups(root)) {
        const bool unified = group.is_unified();
        if (!unified && group.controllers.find("memory") == std::string::npos) continue;
        const auto top = root / (unified ? "sys/fs/cgroup" : "sys/fs/cgroup/memory");
        // A container may see its own group as the top folder, but the path as the host knows it. Then only the top folder exists.
        for (std::filesystem::path path = group.path; path.has_relative_path(); path = path.parent_path())
            detail::limit_by_cgroup(memory, top / path.relative_path(), unified, machine_bytes);
        detail::limit_by_cgroup(memory, top, unified, machine_bytes);
    }
    return memory;
}

}  // namespace hpo::device
