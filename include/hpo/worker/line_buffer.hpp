// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/core/bytes.hpp"
#include "hpo/core/error.hpp"

namespace hpo::worker {

/// Cuts a stream of bytes into lines, however they arrive.
class LineBuffer {
public:
    /// A peer that sends more than this without a line's end talks nonsense.
    static constexpr std::size_t longest_line = std::size_t{256} << 20U;

    explicit LineBuffer(std::size_t limit = longest_line) : limit_{limit} {}

    void append(std::string_view bytes) { pending_ += bytes; }

    /// The next whole line without its end; throws Error{bad_value} once a line is longer than the limit.
    [[nodiscard]] std::optional<std::string> next() {
        const auto end = pending_.find('\n', searched_);
        if (end == std::string::npos) {
            drop_taken();
            searched_ = pending_.size();
            if (pending_.size() > limit_)
                throw bad_value("message", "a line above " + format_bytes(static_cast<std::int64_t>(limit_)), "a shorter one");
            return std::nullopt;
        }
        std::string line = pending_.substr(taken_, end - taken_);
        taken_ = searched_ = end + 1;
        return line;
    }

private:
    void drop_taken() {
        pending_.erase(0, taken_);
        taken_ = 0;
    }

    std::size_t limit_;
    std::string pending_;
    std::size_t taken_ = 0;     ///< bytes of pending_ that were given out
    std::size_t searched_ = 0;  ///< bytes of pending_ without a line's end
};

}  // namespace hpo::worker
