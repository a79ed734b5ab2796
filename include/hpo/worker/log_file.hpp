// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <utility>

#include "hpo/core/shortened_log.hpp"
#include "hpo/worker/descriptor.hpp"

namespace hpo::worker {

/// Where a worker's output goes: a named file that is appended to, or an unnamed one that goes with the worker.
class LogFile {
public:
    /// An empty path: unnamed, in the folder for temporary files. Throws Error{plugin} when it cannot be made.
    explicit LogFile(const std::filesystem::path& path) {
        constexpr int mode = O_RDWR | O_APPEND | O_CLOEXEC;
        if (path.empty()) {
            std::string name = (std::filesystem::temp_directory_path() / "hpo-worker-XXXXXX").string();
            file_ = Descriptor{::mkostemp(name.data(), O_APPEND | O_CLOEXEC)};
            if (file_) ::unlink(name.c_str());
        } else {
            file_ = Descriptor{::open(path.c_str(), mode | O_CREAT, 0644)};
        }
        if (!file_) throw system_failure((path.empty() ? "a temporary file" : path.string()) + ": cannot keep a worker's output");
    }

    [[nodiscard]] int descriptor() const noexcept { return file_.get(); }
    /// From here on, output belongs to the next attempt.
    void begin_attempt() { begin_ = size(); }
    /// The last `limit` bytes of the attempt's output, from the start of a line where it can be.
    [[nodiscard]] std::string tail(std::size_t limit = 8192) const {
        const off_t end = size();
        const off_t from = std::max(begin_, end - static_cast<off_t>(limit));
        std::string text(static_cast<std::size_t>(std::max<off_t>(end - from, 0)), '\0');
        const ssize_t got = ::pread(file_.get(), text.data(), text.size(), from);
        text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        if (const auto line = text.find('\n'); from > begin_ && line != std::string::npos) text.erase(0, line + 1);
        return text;
    }

    /// The attempt's output, shortened as a log is.
    [[nodiscard]] std::string attempt_text() const {
        ShortenedLog log;
        std::array<char, 65536> part{};
        for (off_t at = begin_; at < size();) {
            const ssize_t got = ::pread(file_.get(), part.data(), part.size(), at);
            if (got <= 0) break;
            log.add({part.data(), static_cast<std::size_t>(got)});
            at += got;
        }
        return std::move(log).text();
    }

private:
    [[nodiscard]] off_t size() const {
        struct ::stat status {};
        return ::fstat(file_.get(), &status) == 0 ? status.st_size : 0;
    }

    Descriptor file_;
    off_t begin_ = 0;
};

}  // namespace hpo::worker
