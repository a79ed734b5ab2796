// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/eventually.hpp"
#include "support/files.hpp"
#include "support/temporary_directory.hpp"

extern char** environ;

namespace hpo::test {

/// The folder in which a test's commands run.
class Workshop : public tests::TemporaryDirectory {
public:
    std::string write(const std::string& name, const std::string& text) const {
        write_file(path(name), text);
        return file(name);
    }
};

/// How a command ended and what it wrote. A signal counts as 128 + its number.
struct CommandResult {
    int status = -1;
    std::string out;
    std::string error;
};

/// Starts a program without a shell; its output goes to files in `workshop`, which is also its working folder.
[[nodiscard]] inline pid_t start_command(const Workshop& workshop, std::vector<std::string> words) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, workshop.path(".out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, workshop.path(".error").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addchdir_np(&actions, workshop.path().c_str());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t child = 0;
    const int failed = posix_spawn(&child, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::runtime_error{"cannot start " + words[0]};
    return child;
}

[[nodiscard]] inline CommandResult finish_command(const Workshop& workshop, pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(workshop.path(".out")),
            read_file(workshop.path(".error"))};
}

[[nodiscard]] inline CommandResult run_command(const Workshop& workshop, const std::vector<std::string>& words) {
    return finish_command(workshop, start_command(workshop, words));
}

/// How often `words` stand in a text.
[[nodiscard]] inline std::size_t times(const std::string& text, const std::string& words) {
    std::size_t count = 0;
    for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++count;
    return count;
}

/// Waits until the command that was started in `workshop` has written `words` so often on standard error, or into the file that it writes
/// there.
[[nodiscard]] inline bool has_said(const Workshop& workshop, const std::string& words, std::size_t often = 1,
                                   const std::string& file = ".error") {
    return eventually([&] { return times(read_file(workshop.path(file)), words) >= often; });
}

/// A program of this build.
[[nodiscard]] inline std::string tool(const std::string& name) { return std::string{HPO_BINARY_DIR} + "/bin/" + name; }

}  // namespace hpo::test
