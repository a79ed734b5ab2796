// SPDX-License-Identifier: MIT
#include "hpo/worker/supervisor/log_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>

#include "hpo/base/shortened_log.hpp"

namespace hpo::worker {

LogFile::LogFile(const std::filesystem::path& path) {
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

std::string LogFile::tail(std::size_t limit) const {
    const off_t end = size();
    const off_t from = std::max(begin_, end - static_cast<off_t>(limit));
    std::string text = read(from, end);
    if (const auto line = text.find('\n'); from > begin_ && line != std::string::npos && line + 1 < text.size()) text.erase(0, line + 1);
    return text;
}

std::string LogFile::attempt_text() const {
    constexpr off_t limit = ShortenedLog::default_limit;
    const off_t end = size();
    ShortenedLog log;
    if (end - begin_ <= 2 * limit) {
        log.add(read(begin_, end));
    } else {
        log.add(read(begin_, begin_ + limit));
        log.leave_out(static_cast<std::size_t>(end - begin_ - 2 * limit));
        log.add(read(end - limit, end));
    }
    return std::move(log).text();
}

std::string LogFile::read(off_t from, off_t to) const {
    std::string text(static_cast<std::size_t>(std::max<off_t>(to - from, 0)), '\0');
    const ssize_t got = ::pread(file_.get(), text.data(), text.size(), from);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return text;
}

}  // namespace hpo::worker
