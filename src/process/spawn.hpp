// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace hpo {

/// A program, and what its process begins with. No signal is blocked or ignored in it.
struct SpawnSpec {
    static constexpr int inherited = -1;    ///< among `descriptors`: as in this process
    static constexpr int null_device = -2;  ///< among `descriptors`: /dev/null
    enum class Group { own_process_group, own_session };

    std::string program;                   ///< without a slash it is looked for in the PATH of this process
    std::vector<std::string> arguments;    ///< without the program's name
    std::vector<std::string> environment;  ///< all of it, NAME=VALUE
    std::vector<int> descriptors;          ///< the one at index n becomes descriptor n. The process has no others
    std::string folder;                    ///< where it starts; empty: where this process is
    Group group = Group::own_process_group;
};

/// Starts a program, and returns its process id. Returns -1 if it cannot be started; errno says why, and no process is left.
///
/// Design note: posix_spawn can neither change the folder nor close all other descriptors before glibc 2.29 and 2.34. As with it, the new
/// process shares the memory of this one until it executes the program. So the time does not grow with this process, and a CUDA context
/// survives, which it would not with fork.
[[nodiscard]] pid_t spawn(const SpawnSpec& spec);

}  // namespace hpo
