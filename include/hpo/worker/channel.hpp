// SPDX-License-Identifier: MIT
#pragma once

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/worker/descriptor.hpp"
#include "hpo/worker/line_buffer.hpp"

namespace hpo::worker {

/// The worker's end of the socket pair. It blocks.
/// Thread safety: any thread may call `send`, one thread `receive`.
class Channel {
public:
    explicit Channel(Descriptor socket) : socket_{std::move(socket)} {}

    /// Returns false once the other end is closed.
    bool send(std::string_view line) noexcept {
        const std::lock_guard lock{mutex_};
        while (!line.empty()) {
            const ssize_t sent = ::send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL);
            if (sent < 0 && errno == EINTR) continue;
            if (sent <= 0) return false;
            line.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }

    /// The next line. Returns nullopt once the other end is closed. Throws Error{bad_value} if a line is too long.
    [[nodiscard]] std::optional<std::string> receive() {
        std::array<char, 65536> bytes;
        for (;;) {
            if (auto line = received_.next()) return line;
            const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return std::nullopt;
            received_.append({bytes.data(), static_cast<std::size_t>(got)});
        }
    }

    /// Makes `receive` return nullopt from now on. Any thread may call it.
    void stop_receiving() noexcept { ::shutdown(socket_.get(), SHUT_RD); }

private:
    Descriptor socket_;
    std::mutex mutex_;
    LineBuffer received_;
};

}  // namespace hpo::worker
