// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <string>

#include "hpo/worker/descriptor.hpp"

namespace hpo::worker {

/// The file for a worker's output. It is a named file that is appended to, or an unnamed one that vanishes with the worker.
class LogFile {
public:
    /// If the path is empty, the file is unnamed, in the folder for temporary files. Throws Error{plugin} if it cannot be made.
    explicit LogFile(const std::filesystem::path& path);

    [[nodiscard]] int descriptor() const noexcept { return file_.get(); }
    /// From now on, output belongs to the next attempt.
    void begin_attempt() { begin_ = size(); }
    /// The last `limit` bytes of the attempt's output. Begins at the start of a line if possible.
    [[nodiscard]] std::string tail(std::size_t limit = 8192) const;

    /// The attempt's output so far, shortened as trial logs are. Reads at most twice the limit of a log.
    [[nodiscard]] std::string attempt_text() const;

private:
    [[nodiscard]] std::string read(off_t from, off_t to) const;
    [[nodiscard]] off_t size() const {
        struct ::stat status {};
        return ::fstat(file_.get(), &status) == 0 ? status.st_size : 0;
    }

    Descriptor file_;
    off_t begin_ = 0;
};

}  // namespace hpo::worker
