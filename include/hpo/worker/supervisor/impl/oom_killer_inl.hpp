// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "hpo/base/inline.hpp"
#include "hpo/worker/supervisor/oom_killer.hpp"

namespace hpo::worker::inline supervisor {

HPO_INLINE std::optional<std::int64_t> oom_kills_in(std::istream& text) {
    std::string line;
    while (std::getline(text, line)) {
        std::istringstream words{line};
        std::string key;
        std::int64_t count = 0;
        if (words >> key >> count && key == "oom_kill") return count;
    }
    return std::nullopt;
}

HPO_INLINE std::optional<std::int64_t> oom_kills() {
    std::optional<std::int64_t> sum;
    const auto add = [&](const std::string& path) {
        std::ifstream file{path};
        if (const auto count = oom_kills_in(file)) sum = sum.value_or(0) + *count;
    };
    add("/proc/vmstat");
    add("/sys/fs/cgroup/memory.events");
    std::ifstream groups{"/proc/self/cgroup"};  // lines "ID:CONTROLLERS:PATH"
    for (std::string line; std::getline(groups, line);) {
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const std::string path = line.substr(second + 1);
        if (controllers.empty() && path != "/") add("/sys/fs/cgroup" + path + "/memory.events");
        if (controllers == "memory") add("/sys/fs/cgroup/memory" + path + "/memory.oom_control");
    }
    return sum;
}

HPO_INLINE std::optional<bool> oom_killed_since(const std::optional<std::int64_t>& before) {
    const auto now = oom_kills();
    if (!before || !now) return std::nullopt;
    return *now > *before;
}

}  // namespace hpo::worker::supervisor
