// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hpo {

/// The beginning and the end of an attempt's log, at most `limit` bytes. A line between them says how many bytes were left out. Memory use
/// stays bounded while the log grows. Thread safety: none.
class ShortenedLog {
public:
    static constexpr std::size_t default_limit = std::size_t{64} << 10U;

    explicit ShortenedLog(std::size_t limit = default_limit) : begin_limit_{limit / 4}, end_limit_{limit - limit / 4} {}

    void add(std::string_view text) {
        const std::size_t fits = left_out_ == 0 && end_.empty() ? text.substr(0, begin_limit_ - begin_.size()).size() : 0;
        begin_ += text.substr(0, fits);
        end_ += text.substr(fits);
        if (end_.size() > 2 * end_limit_) drop();
    }
    void add_line(std::string_view line) {
        add(line);
        add("\n");
    }
    /// Says that the next `bytes` bytes of the log cannot be added. Drops the end that was kept so far. Call it only if the log is longer
    /// than its limit by then.
    void leave_out(std::size_t bytes) {
        left_out_ += end_.size() + bytes;
        end_.clear();
    }
    [[nodiscard]] std::string text() && {
        if (end_.size() > end_limit_) drop();
        if (left_out_ == 0) return begin_ + end_;
        return begin_ + (begin_.ends_with('\n') ? "" : "\n") + "[" + std::to_string(left_out_) + " bytes left out]\n" + end_;
    }

private:
    /// Cuts the end down to the limit. It begins at the start of a line if there is one nearby.
    void drop() {
        std::size_t first = end_.size() - end_limit_;
        if (const auto line = end_.find('\n', first); line < first + end_limit_ / 4) first = line + 1;
        left_out_ += first;
        end_.erase(0, first);
    }

    std::size_t begin_limit_;
    std::size_t end_limit_;
    std::string begin_;
    std::string end_;
    std::size_t left_out_ = 0;
};

}  // namespace hpo
