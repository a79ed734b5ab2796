// SPDX-License-Identifier: MIT
#include "process/spawn.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/process/after_fork.hpp"

/// The C library's clone(). A sanitizer replaces only that name, and takes the new process for one of fork.
extern "C" int __clone(int (*)(void*), void*, int, void*, ...) noexcept;  // NOLINT(bugprone-reserved-identifier)

namespace hpo {
namespace detail {

/// What the new process uses. Made before, because that process must take no memory: it is this one's.
struct PreparedSpawn {
    const SpawnSpec& spec;
    std::vector<std::string> programs;  ///< to be tried one after the other
    std::vector<char*> arguments;
    std::vector<char*> environment;
    std::vector<int> copies;  ///< room for a copy of each descriptor
    std::vector<int> kept;    ///< 0, 1, ...
    int error = 0;            ///< why the program does not run
};

/// Where a program may be, in the order of PATH.
std::vector<std::string> program_candidates(const std::string& program) {
    if (program.empty() || program.find('/') != std::string::npos) return {program};
    const char* const given = ::getenv("PATH");
    const std::string_view path = given != nullptr ? given : "/bin:/usr/bin";
    std::vector<std::string> candidates;
    for (std::size_t at = 0; at <= path.size();) {
        const std::size_t end = std::min(path.find(':', at), path.size());
        std::string folder{path.substr(at, end - at)};
        if (!folder.empty()) folder += '/';
        candidates.push_back(folder + program);
        at = end + 1;
    }
    return candidates;
}

// Some calls below are the kernel's own, because the C library's, or a sanitizer's, would note for this process what the new one does.

bool arrange_descriptors(PreparedSpawn& prepared) noexcept {
    const auto& wanted = prepared.spec.descriptors;
    const int count = static_cast<int>(wanted.size());
    // The copies are above all that is wanted, so that no source is overwritten before it is used.
    for (int n = 0; n < count; ++n) {
        int source = wanted[n];
        if (source == SpawnSpec::null_device)
            source = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, "/dev/null", (n == STDIN_FILENO ? O_RDONLY : O_WRONLY) | O_CLOEXEC));
        else if (source == SpawnSpec::inherited) continue;
        if (source < 0) {
            if (wanted[n] != SpawnSpec::null_device) errno = EBADF;
            return false;
        }
        prepared.copies[n] = ::fcntl(source, F_DUPFD_CLOEXEC, count);
        if (prepared.copies[n] < 0) return false;
    }
    for (int n = 0; n < count; ++n) {
        if (wanted[n] != SpawnSpec::inherited && ::syscall(SYS_dup3, prepared.copies[n], n, 0) < 0) return false;
    }
    return close_all_but(prepared.kept);
}

void reset_signals() noexcept {
    const std::array<unsigned long, 4> as_usual{};  // the kernel's struct sigaction, with SIG_DFL
    for (int number = 1; number < NSIG; ++number) ::syscall(SYS_rt_sigaction, number, as_usual.data(), nullptr, NSIG / 8);
}

/// Returns why the program cannot be executed.
int execute(const PreparedSpawn& prepared) noexcept {
    int error = ENOENT;
    bool was_denied = false;
    for (const std::string& program : prepared.programs) {
        ::execve(program.c_str(), prepared.arguments.data(), prepared.environment.data());
        error = errno;
        const bool may_be_elsewhere =
            error == EACCES || error == ENOENT || error == ENOTDIR || error == ESTALE || error == ENODEV || error == ETIMEDOUT;
        if (!may_be_elsewhere) return error;
        was_denied = was_denied || error == EACCES;
    }
    return was_denied ? EACCES : error;
}

/// The life of the new process until it executes the program. Returns only if it cannot.
int begin_spawned(void* given) noexcept {
    auto& prepared = *static_cast<PreparedSpawn*>(given);
    const SpawnSpec& spec = prepared.spec;
    reset_signals();
    const bool is_grouped = spec.group == SpawnSpec::Group::own_session ? ::setsid() >= 0 : ::setpgid(0, 0) == 0;
    if (is_grouped && arrange_descriptors(prepared) && (spec.folder.empty() || ::chdir(spec.folder.c_str()) == 0)) {
        sigset_t none;
        sigemptyset(&none);
        ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
        prepared.error = execute(prepared);
    } else {
        prepared.error = errno;
    }
    return 127;
}

/// Blocks all signals and cancellation of this thread while it lives, because a handler would run in the new process, on the memory of this
/// one.
class Undisturbed {
public:
    Undisturbed() {
        sigset_t all;
        sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &mask_);
        ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation_);
    }
    Undisturbed(const Undisturbed&) = delete;
    Undisturbed& operator=(const Undisturbed&) = delete;
    ~Undisturbed() {
        ::pthread_setcancelstate(cancellation_, nullptr);
        ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    }

private:
    sigset_t mask_{};
    int cancellation_ = 0;
};

}  // namespace detail

pid_t spawn(const SpawnSpec& spec) {
    constexpr std::size_t stack_bytes = 65536;
    const auto pointer = [](const std::string& text) {
        return const_cast<char*>(text.c_str());  // NOLINT(cppcoreguidelines-pro-type-const-cast): exec
    };
    const auto pointers = [&](const std::vector<std::string>& words, std::vector<char*> result) {
        for (const std::string& word : words) result.push_back(pointer(word));
        result.push_back(nullptr);
        return result;
    };
    detail::PreparedSpawn prepared{.spec = spec,
                                   .programs = detail::program_candidates(spec.program),
                                   .arguments = pointers(spec.arguments, {pointer(spec.program)}),
                                   .environment = pointers(spec.environment, {}),
                                   .copies = std::vector<int>(spec.descriptors.size()),
                                   .kept = std::vector<int>(spec.descriptors.size())};
    std::iota(prepared.kept.begin(), prepared.kept.end(), 0);
    const auto stack = std::make_unique_for_overwrite<std::byte[]>(stack_bytes);
    pid_t pid = -1;
    {
        const detail::Undisturbed undisturbed;
        pid = ::__clone(detail::begin_spawned, stack.get() + stack_bytes, CLONE_VM | CLONE_VFORK | SIGCHLD, &prepared);
        if (pid < 0) prepared.error = errno;
        else if (prepared.error != 0) ::waitpid(pid, nullptr, 0);
    }
    if (prepared.error == 0) return pid;
    errno = prepared.error;
    return -1;
}

}  // namespace hpo
