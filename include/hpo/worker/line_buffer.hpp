// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"

namespace hpo::worker {

/// Cuts a stream of bytes into lines. The bytes may arrive in pieces of any size.
class LineBuffer {
public:
    /// A longer line is an error of the other side.
    static constexpr std::size_t longest_line = std::size_t{256} << 20U;

    explicit LineBuffer(std::size_t limit = longest_line) : limit_{limit} {}

    void append(std::string_view bytes) { pending_ += bytes; }

    /// The next whole line without its end. Throws Error{bad_value} once a line is longer than the limit.
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
    std::size_t taken_ = 0;     ///< bytes of pending_ that were returned already
    std::size_t searched_ = 0;  ///< bytes of pending_ that are known to have no line end
};

}  // namespace hpo::worker
