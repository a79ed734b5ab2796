// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "hpo/base/error.hpp"
#include "hpo/base/inline.hpp"
#include "hpo/base/temporary_folder.hpp"

namespace hpo {
namespace detail {

/// Reads a word, or the end of a process. It tries again for a while, because what that process started may still write to the folder.
inline constexpr const char* folder_guard = R"(trap '' HUP INT QUIT TERM
read -r word && exit 0
tries=0
while [ -e "$1" ] && [ $tries -lt 100 ]; do
  chmod -R u+rwx "$1"
  rm -rf "$1" || sleep 0.1
  tries=$((tries + 1))
done
)";

}  // namespace detail

HPO_INLINE TemporaryFolder::TemporaryFolder(const std::string& name) {
    const auto refuse = [](const std::string& what, const std::string& why) {
        throw Error{Errc::usage, "TMPDIR: " + what + ": " + why + "; expected a folder for temporary files"};
    };
    std::error_code failed;
    const std::filesystem::path home = std::filesystem::temp_directory_path(failed);
    if (failed) {
        const char* const given = ::getenv("TMPDIR");  // what temp_directory_path has read
        refuse(given != nullptr ? given : "/tmp", failed.message());
    }
    std::string pattern = (std::filesystem::absolute(home) / (name + "-XXXXXX")).string();
    if (::mkdtemp(pattern.data()) == nullptr) refuse(pattern + " cannot be made", std::strerror(errno));
    path_ = pattern;
    start_guard();
}

HPO_INLINE void TemporaryFolder::start_guard() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    for (const int output : {STDOUT_FILENO, STDERR_FILENO}) posix_spawn_file_actions_addopen(&actions, output, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawn_file_actions_addchdir_np(&actions, "/");  // so that the current folder can be unmounted
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
    std::array<std::string, 5> words{"/bin/sh", "-c", detail::folder_guard, "hpo-folder-guard", path_.string()};
    std::string search = "PATH=/usr/local/bin:/usr/bin:/bin";
    const std::array<char*, 6> arguments{words[0].data(), words[1].data(), words[2].data(), words[3].data(), words[4].data(), nullptr};
    const std::array<char*, 2> environment{search.data(), nullptr};
    const int status = ::posix_spawn(&guard_, words[0].c_str(), &actions, &attributes, arguments.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    ::close(ends[1]);
    guarded_ = ends[0];
    if (status != 0) guard_ = -1;
}

HPO_INLINE TemporaryFolder::~TemporaryFolder() {
    std::error_code failed;
    std::filesystem::remove_all(path_, failed);
    if (guarded_ < 0) return;
    if (!failed) static_cast<void>(::send(guarded_, "\n", 1, MSG_NOSIGNAL));  // else the guard tries it, as for a process that is gone
    ::close(guarded_);
    while (guard_ > 0 && ::waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace hpo
