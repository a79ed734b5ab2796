// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace hpo::tune {

/// The lines that arrive at a descriptor. A line that is too long is read to its end and told as such.
class RequestLines {
public:
    static constexpr std::size_t longest_line = std::size_t{16} << 20U;

    explicit RequestLines(int descriptor, std::size_t limit = longest_line) : descriptor_{descriptor}, limit_{limit} {}

    struct Line {
        std::string_view text;  ///< without its end; valid until the next call
        bool is_too_long = false;
    };
    enum class State { line, nothing_yet, end };
    /// Waits for a line at most so long, or until a signal comes. The last line may lack its end.
    [[nodiscard]] State next(Line& line, int timeout_ms);

private:
    /// Takes a whole line out of what was read.
    [[nodiscard]] bool take(Line& line);
    /// Reads once. Returns false at the end of the input.
    [[nodiscard]] bool read_some();

    int descriptor_;
    std::size_t limit_;
    std::string pending_;
    std::size_t taken_ = 0;     ///< bytes of pending_ that were returned already
    std::size_t searched_ = 0;  ///< bytes of pending_ that are known to have no line end
    bool skips_ = false;        ///< inside a line that is too long
    bool at_end_ = false;
};

}  // namespace hpo::tune
