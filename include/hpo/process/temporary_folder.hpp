// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace hpo {

/// A new folder that only this user may open. It is deleted with all that it holds once this object is destroyed, and also if this process
/// is killed: a small process, which no signal of a terminal reaches, waits for its end and then deletes the folder.
///
/// Design note: this is the one place below hpo/ that makes a folder in TMPDIR and starts a process, because plugins and tools both need
/// it. A worker is killed together with its supervisor, so no destructor and no handler of a signal would do.
class TemporaryFolder {
public:
    /// Makes it in `std::filesystem::temp_directory_path()`, which is TMPDIR, or else /tmp. Its name begins with `name`. Throws
    /// Error{usage} if it cannot be made there. If no process can be started, only the destructor deletes the folder.
    explicit TemporaryFolder(const std::string& name);
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder();
    /// Absolute.
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    void start_guard();

    std::filesystem::path path_;
    int guarded_ = -1;  ///< a socket: its end without a word tells the guard that this process is gone
    pid_t guard_ = -1;
};

}  // namespace hpo
