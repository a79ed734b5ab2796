// SPDX-License-Identifier: MIT
#include "hpo/worker/supervisor/oom_killer.hpp"

#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "hpo/device/control_groups.hpp"

namespace hpo::worker {

std::optional<std::int64_t> oom_kills_in(std::istream& text) {
    std::string line;
    while (std::getline(text, line)) {
        std::istringstream words{line};
        std::string key;
        std::int64_t count = 0;
        if (words >> key >> count && key == "oom_kill") return count;
    }
    return std::nullopt;
}

std::optional<std::int64_t> oom_kills() {
    std::optional<std::int64_t> sum;
    const auto add = [&](const std::string& path) {
        std::ifstream file{path};
        if (const auto count = oom_kills_in(file)) sum = sum.value_or(0) + *count;
    };
    add("/proc/vmstat");
    add("/sys/fs/cgroup/memory.events");
    for (const device::ControlGroup& group : device::own_control_groups()) {
        if (group.is_unified() && group.path != "/") add("/sys/fs/cgroup" + group.path.string() + "/memory.events");
        if (group.controllers == "memory") add("/sys/fs/cgroup/memory" + group.path.string() + "/memory.oom_control");
    }
    return sum;
}

std::optional<bool> oom_killed_since(const std::optional<std::int64_t>& before) {
    const auto now = oom_kills();
    if (!before || !now) return std::nullopt;
    return *now > *before;
}

}  // namespace hpo::worker
