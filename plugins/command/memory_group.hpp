// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>

namespace hpo::command {

/// A control group for the host memory of some processes and of all that they start. If they take more, the kernel ends one of them at
/// once. The group is below this process's own one (version 1), or below the nearest one above it that can limit memory (version 2).
///
/// Pages of files that the processes read first count, too. The kernel drops them when the group is full.
class MemoryGroup {
public:
    /// Throws hpo::Error if this user may make no such group.
    explicit MemoryGroup(std::int64_t limit_bytes, const std::filesystem::path& root = "/");
    MemoryGroup(const MemoryGroup&) = delete;
    MemoryGroup& operator=(const MemoryGroup&) = delete;
    /// Removes the group. Its processes must have ended.
    ~MemoryGroup();

    /// Moves a process into the group. What it holds already does not count. A process that has ended is left out.
    void add(pid_t process) const;
    /// True if the kernel has ended a process of the group because of its memory.
    [[nodiscard]] bool has_killed() const;
    [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

private:
    std::filesystem::path folder_;
    bool unified_ = false;  ///< version 2
};

}  // namespace hpo::command
