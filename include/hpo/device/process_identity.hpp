// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>

namespace hpo::device {

/// A process that no later one can be mistaken for: its id, and when it began in clock ticks since the machine started.
struct ProcessIdentity {
    std::int64_t pid = 0;
    std::uint64_t start_ticks = 0;
    friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

/// The process that has this id now; nothing when there is none, or only a dead one whose parent has not looked yet.
[[nodiscard]] inline std::optional<ProcessIdentity> identify_process(std::int64_t pid) {
    std::ifstream file{"/proc/" + std::to_string(pid) + "/stat"};
    const std::string text{std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
    const auto name_end = text.rfind(')');  // the name in parentheses may hold spaces and parentheses itself
    if (name_end == std::string::npos) return std::nullopt;
    std::istringstream fields{text.substr(name_end + 1)};
    std::string state;
    if (!(fields >> state) || state == "Z" || state == "X") return std::nullopt;
    std::string skipped;
    for (int field = 4; field < 22; ++field) fields >> skipped;
    ProcessIdentity identity{pid, 0};
    if (!(fields >> identity.start_ticks)) return std::nullopt;
    return identity;
}

[[nodiscard]] inline bool is_alive(const ProcessIdentity& process) { return identify_process(process.pid) == process; }

[[nodiscard]] inline ProcessIdentity this_process() { return identify_process(::getpid()).value_or(ProcessIdentity{::getpid(), 0}); }

}  // namespace hpo::device
