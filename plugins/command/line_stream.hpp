// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace hpo::command {

/// Reads lines from a descriptor that does not block. A longer line than `most` comes in pieces, so a program that never ends a line costs
/// no memory.
class LineStream {
public:
    LineStream(int descriptor, std::size_t most) : descriptor_{descriptor}, most_{most} {}

    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
    [[nodiscard]] bool at_end() const noexcept { return at_end_; }
    /// How much was read.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

    /// Reads what is there, at most 1 MiB, and calls `take(line, whole)` for each line. `whole` is false for a piece of a longer one.
    template <class Take>
    void read(Take&& take) {
        std::array<char, 65536> bytes;
        for (int i = 0; i < 16 && !at_end_; ++i) {
            const ssize_t got = ::read(descriptor_, bytes.data(), bytes.size());
            if (got < 0 && errno == EINTR) continue;
            if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
            if (got <= 0) at_end_ = true;
            else cut({bytes.data(), static_cast<std::size_t>(got)}, take);
            bytes_ += static_cast<std::uint64_t>(std::max<ssize_t>(got, 0));
        }
        if (at_end_ && !pending_.empty()) take(std::string_view{std::exchange(pending_, {})}, !std::exchange(in_piece_, false));
    }

private:
    template <class Take>
    void cut(std::string_view bytes, Take& take) {
        while (!bytes.empty()) {
            const std::size_t end = bytes.find('\n');
            pending_ += bytes.substr(0, end);
            if (end != std::string_view::npos) {
                take(std::string_view{pending_}, !std::exchange(in_piece_, false));
                pending_.clear();
            } else if (pending_.size() >= most_) {
                take(std::string_view{pending_}, false);
                pending_.clear();
                in_piece_ = true;
            }
            bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
        }
    }

    int descriptor_;
    std::size_t most_;
    std::uint64_t bytes_ = 0;
    std::string pending_;
    bool in_piece_ = false;  ///< a piece of the pending line was taken already
    bool at_end_ = false;
};

}  // namespace hpo::command
