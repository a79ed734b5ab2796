// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "hpo/worker/descriptor.hpp"

namespace hpo::tools {

/// A text file that is appended to, and that begins anew when it is large. Its older parts are FILE.1 to FILE.4, the newest first. Several
/// processes may append to one file: each call of `append` is one write, and only one process at a time rotates.
/// Thread safety: one thread per object.
class RotatingFile {
public:
    static constexpr int kept_parts = 4;

    /// Opens, or makes, the file. It is rotated before it exceeds `most_bytes`. Throws Error{usage} that names `place` if it cannot be
    /// opened. A full disk or a failing file system is no such error: `append` tries again.
    RotatingFile(std::filesystem::path path, std::int64_t most_bytes, const std::string& place);

    /// Appends whole lines, each with its line end. Returns false if they could not be written; `problem` then says why.
    bool append(std::string_view lines);
    /// Why the latest lines could not be written; empty if they were.
    [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    /// Opens the file that now has this name. Returns 0, or errno.
    int open();
    /// True if the open file still has its name: nobody has rotated or removed it.
    [[nodiscard]] bool is_in_place() const;
    [[nodiscard]] std::int64_t size() const;
    /// True if the file's last line has no end, because a process that wrote it was cut off.
    [[nodiscard]] bool ends_within_line() const;
    void rotate();
    bool failed(int error);

    std::filesystem::path path_;
    std::int64_t most_bytes_;
    worker::Descriptor file_;
    bool is_torn_ = false;  ///< the file ends within a line
    std::string problem_;
};

}  // namespace hpo::tools
