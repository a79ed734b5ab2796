// SPDX-License-Identifier: MIT
#include "hpo/process/temporary_folder.hpp"

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
#include "process/spawn.hpp"

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

TemporaryFolder::TemporaryFolder(const std::string& name) {
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

void TemporaryFolder::start_guard() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return;
    guard_ = spawn({.program = "/bin/sh",
                    .arguments = {"-c", detail::folder_guard, "hpo-folder-guard", path_.string()},
                    .environment = {"PATH=/usr/local/bin:/usr/bin:/bin"},
                    .descriptors = {ends[1], SpawnSpec::null_device, SpawnSpec::null_device},
                    .folder = "/",  // so that the current folder can be unmounted
                    .group = SpawnSpec::Group::own_session});
    ::close(ends[1]);
    guarded_ = ends[0];
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code failed;
    std::filesystem::remove_all(path_, failed);
    if (guarded_ < 0) return;
    if (!failed) static_cast<void>(::send(guarded_, "\n", 1, MSG_NOSIGNAL));  // else the guard tries it, as for a process that is gone
    ::close(guarded_);
    while (guard_ > 0 && ::waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace hpo
