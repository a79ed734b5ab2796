// SPDX-License-Identifier: MIT
#include "support/rotating_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include "hpo/base/error.hpp"

namespace hpo::tools {
namespace {

/// True for what a person can end without giving another name: room on the disk, or a file system that answers again.
bool passes(int error) {
    return error == ENOSPC || error == EDQUOT || error == EIO || error == ESTALE || error == EMFILE || error == ENFILE;
}

std::string numbered(const std::filesystem::path& path, int part) { return path.string() + "." + std::to_string(part); }

}  // namespace

RotatingFile::RotatingFile(std::filesystem::path path, std::int64_t most_bytes, const std::string& place)
    : path_{std::move(path)}, most_bytes_{most_bytes} {
    constexpr std::string_view database = "SQLite format 3";
    std::string begin(database.size(), '\0');
    std::error_code ignored;  // a pipe would keep a reader waiting
    if (std::filesystem::is_regular_file(path_, ignored) &&
        std::ifstream{path_, std::ios::binary}.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == database)
        throw Error{Errc::usage, place + ": '" + path_.string() + "' is an SQLite database; expected a text file, or a new one"};
    const int error = open();
    if (error != 0 && !passes(error))
        throw Error{Errc::usage, place + ": '" + path_.string() + "' cannot be opened for writing: " + std::strerror(error)};
}

bool RotatingFile::append(std::string_view lines) {
    if (!file_ || !is_in_place()) {
        if (const int error = open(); error != 0) return failed(error);
    }
    if (size() > 0 && size() + static_cast<std::int64_t>(lines.size()) > most_bytes_) rotate();
    const std::string begun = (is_torn_ ? "\n" : "") + std::string{lines};
    ssize_t written = -1;
    ::flock(file_.get(), LOCK_SH);  // whoever looks at the end of the file sees whole lines
    do written = ::write(file_.get(), begun.data(), begun.size());
    while (written < 0 && errno == EINTR);
    const int error = errno;
    ::flock(file_.get(), LOCK_UN);
    if (written < 0) return failed(error);
    is_torn_ = static_cast<std::size_t>(written) < begun.size();
    if (is_torn_) return failed(ENOSPC);
    problem_.clear();
    return true;
}

int RotatingFile::open() {
    worker::Descriptor opened{::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666)};
    if (!opened) return errno;
    file_ = std::move(opened);
    ::flock(file_.get(), LOCK_EX);
    is_torn_ = ends_within_line();
    ::flock(file_.get(), LOCK_UN);
    return 0;
}

bool RotatingFile::ends_within_line() const {
    const std::int64_t end = size();
    const std::string same = "/proc/self/fd/" + std::to_string(file_.get());  // at the path may be another file by now
    const worker::Descriptor reader{end > 0 ? ::open(same.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1};
    char last = '\n';
    return reader && ::pread(reader.get(), &last, 1, end - 1) == 1 && last != '\n';
}

bool RotatingFile::is_in_place() const {
    struct ::stat named {};
    struct ::stat held {};
    return ::stat(path_.c_str(), &named) == 0 && ::fstat(file_.get(), &held) == 0 && named.st_dev == held.st_dev &&
           named.st_ino == held.st_ino;
}

std::int64_t RotatingFile::size() const {
    struct ::stat held {};
    return ::fstat(file_.get(), &held) == 0 && S_ISREG(held.st_mode) ? held.st_size : 0;  // a terminal or a pipe has none
}

void RotatingFile::rotate() {
    // A process that waits here finds afterwards that the file has another name.
    if (::flock(file_.get(), LOCK_EX) != 0) return;
    if (is_in_place()) {
        for (int part = kept_parts; part > 1; --part) std::rename(numbered(path_, part - 1).c_str(), numbered(path_, part).c_str());
        std::rename(path_.c_str(), numbered(path_, 1).c_str());  // the last step: until then nobody makes a new file
    }
    ::flock(file_.get(), LOCK_UN);
    if (!is_in_place()) open();  // if that fails, the older part goes on
}

bool RotatingFile::failed(int error) {
    problem_ = path_.string() + ": " + std::strerror(error);
    return false;
}

}  // namespace hpo::tools
