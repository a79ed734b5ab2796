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

#include "hpo/base/inline.hpp"
#include "hpo/base/process_identity.hpp"

namespace hpo {

HPO_INLINE ProcessAnswer ask_about_process(std::int64_t pid) {
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

HPO_INLINE std::optional<ProcessIdentity> identify_process(std::int64_t pid) {
    const auto process = process_state(pid);
    if (!process || process->is_dead()) return std::nullopt;
    return ProcessIdentity{pid, process->start_ticks};
}

HPO_INLINE bool is_alive(const ProcessIdentity& process) {
    const ProcessAnswer answer = ask_about_process(process.pid);
    if (!answer.state) return !answer.is_missing;
    return !answer.state->is_dead() && (process.start_ticks == 0 || process.start_ticks == answer.state->start_ticks);
}

}  // namespace hpo
