// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace hpo {

/// "SIGKILL" for 9. A signal without a name, such as a real-time signal, is "signal 40".
[[nodiscard]] inline std::string signal_name(int number) {
    static constexpr auto names = std::to_array<std::string_view>(
        {"SIGHUP",  "SIGINT",  "SIGQUIT", "SIGILL",    "SIGTRAP",   "SIGABRT",  "SIGBUS",  "SIGFPE",  "SIGKILL", "SIGUSR1", "SIGSEGV",
         "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM",   "SIGSTKFLT", "SIGCHLD",  "SIGCONT", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU",
         "SIGURG",  "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF",   "SIGWINCH", "SIGPOLL", "SIGPWR",  "SIGSYS"});
    const auto index = static_cast<std::size_t>(number) - 1;
    return index < names.size() ? std::string{names[index]} : "signal " + std::to_string(number);
}

}  // namespace hpo
