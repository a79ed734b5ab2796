// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <span>

namespace hpo::command {

/// The parent of a process, from the text of /proc/PID/stat: "PID (NAME) STATE PARENT ...". NAME may hold anything. 0: unknown. Takes no
/// memory.
[[nodiscard]] inline pid_t parent_in(std::span<const char> stat) {
    const char* at = nullptr;
    for (const char& c : stat) {
        if (c == ')') at = &c;
    }
    const char* const end = stat.data() + stat.size();
    if (!at || end - at < 5) return 0;
    pid_t parent = 0;
    for (at += 4; at < end && *at >= '0' && *at <= '9'; ++at) parent = parent * 10 + (*at - '0');
    return parent;
}

}  // namespace hpo::command
