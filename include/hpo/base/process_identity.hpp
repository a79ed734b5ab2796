// SPDX-License-Identifier: MIT
#pragma once

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace hpo {

/// What /proc says about a process of this host.
struct ProcessState {
    char state = '?';               ///< R, S, D, Z (dead, but its parent has not waited for it), X, ...
    std::uint64_t start_ticks = 0;  ///< when it began, in clock ticks since the machine started
    [[nodiscard]] bool is_dead() const { return state == 'Z' || state == 'X'; }
};

/// The answer to a question about a process. With `state` empty and `is_missing` false, the question could not be asked, for example
/// because too many files are open. This says nothing about the process.
struct ProcessAnswer {
    std::optional<ProcessState> state;
    bool is_missing = false;  ///< /proc shows no such process
};

[[nodiscard]] ProcessAnswer ask_about_process(std::int64_t pid);

/// Returns nullopt if there is no such process, if /proc does not show it, or if it cannot be asked.
[[nodiscard]] inline std::optional<ProcessState> process_state(std::int64_t pid) { return ask_about_process(pid).state; }

/// Identifies a process by its id and its start time, so that a later process with the same id is not mistaken for it.
struct ProcessIdentity {
    std::int64_t pid = 0;
    std::uint64_t start_ticks = 0;  ///< 0: unknown
    friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

/// The living process that has this id now. Returns nullopt if there is none, if it is dead, or if it cannot be asked.
[[nodiscard]] std::optional<ProcessIdentity> identify_process(std::int64_t pid);

/// False only if the process is known to be dead: the caller may then take away what it holds.
[[nodiscard]] bool is_alive(const ProcessIdentity& process);

/// A number for the namespace in which process ids are valid: the host's, or a container's. 0: unknown.
[[nodiscard]] inline std::uint64_t process_id_space() {
    struct ::stat status {};
    return ::stat("/proc/self/ns/pid", &status) == 0 ? static_cast<std::uint64_t>(status.st_ino) : 0;
}

[[nodiscard]] inline ProcessIdentity this_process() { return identify_process(::getpid()).value_or(ProcessIdentity{::getpid(), 0}); }

inline ProcessAnswer ask_about_process(std::int64_t pid) {
    // If /proc hides other users' processes (hidepid), a signal still shows whether the process exists. It does not show when it began.
    const auto says_missing = [pid] {
        if (errno != ENOENT && errno != ESRCH) return false;
        return pid <= 0 || (::kill(static_cast<::pid_t>(pid), 0) != 0 && errno == ESRCH);
    };
    std::FILE* file = std::fopen(("/proc/" + std::to_string(pid) + "/stat").c_str(), "re");
    if (!file) return {.state = {}, .is_missing = says_missing()};
    std::array<char, 1024> buffer{};  // more than the first 22 fields can fill
    errno = 0;
    const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), file);
    const bool missing = size == 0 && says_missing();  // it ended meanwhile
    std::fclose(file);
    if (missing) return {.state = {}, .is_missing = true};
    const std::string_view text{buffer.data(), size};
    const auto name_end = text.rfind(')');  // the name in parentheses may itself contain spaces and parentheses
    if (name_end == std::string_view::npos || name_end + 2 >= text.size()) return {};
    ProcessState process;
    std::size_t at = name_end + 2;  // each field follows one space
    process.state = text[at];
    for (int field = 4; field <= 22; ++field) {
        at = text.find(' ', at);
        if (at == std::string_view::npos) return {};
        ++at;
    }
    const auto parsed = std::from_chars(text.data() + at, text.data() + text.size(), process.start_ticks);
    if (parsed.ec != std::errc{}) return {};
    return {.state = process};
}

inline std::optional<ProcessIdentity> identify_process(std::int64_t pid) {
    const auto process = process_state(pid);
    if (!process || process->is_dead()) return std::nullopt;
    return ProcessIdentity{pid, process->start_ticks};
}

inline bool is_alive(const ProcessIdentity& process) {
    const ProcessAnswer answer = ask_about_process(process.pid);
    if (!answer.state) return !answer.is_missing;
    return !answer.state->is_dead() && (process.start_ticks == 0 || process.start_ticks == answer.state->start_ticks);
}

}  // namespace hpo
