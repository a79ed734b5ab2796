// SPDX-License-Identifier: MIT
#include "tune/serve/request_lines.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace hpo::tune {

RequestLines::State RequestLines::next(Line& line, int timeout_ms) {
    for (;;) {
        if (take(line)) return State::line;
        if (at_end_) return State::end;
        pollfd input{descriptor_, POLLIN, 0};
        if (::poll(&input, 1, timeout_ms) <= 0) return State::nothing_yet;
        if (!read_some()) at_end_ = true;
    }
}

bool RequestLines::take(Line& line) {
    const auto end = pending_.find('\n', searched_);
    if (end == std::string::npos && !at_end_) {
        pending_.erase(0, taken_);
        taken_ = 0;
        if (pending_.size() > limit_) skips_ = true;
        if (skips_) pending_.clear();
        searched_ = pending_.size();
        return false;
    }
    const auto until = end == std::string::npos ? pending_.size() : end;
    if (end == std::string::npos && until == taken_ && !skips_) return false;  // nothing is left at the end of the input
    line.text = std::string_view{pending_}.substr(taken_, until - taken_);
    line.is_too_long = skips_ || line.text.size() > limit_;
    skips_ = false;
    taken_ = searched_ = end == std::string::npos ? until : end + 1;
    return true;
}

bool RequestLines::read_some() {
    std::array<char, std::size_t{64} << 10U> bytes;
    const ssize_t size = ::read(descriptor_, bytes.data(), bytes.size());
    if (size > 0) pending_.append(bytes.data(), static_cast<std::size_t>(size));
    return size > 0 || (size < 0 && (errno == EINTR || errno == EAGAIN));
}

}  // namespace hpo::tune
