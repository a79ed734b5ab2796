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

/// The worker's end of the socket pair, blocking.
/// Thread safety: `send` from any thread; `receive` from one.
class Channel {
public:
    explicit Channel(Descriptor socket) : socket_{std::move(socket)} {}

    /// False once nobody listens any more.
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

    /// The next line; nothing once the other end has closed. Throws Error{bad_value} for a line that is too long.
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

    /// Makes `receive` return nothing, now and later; from any thread.
    void stop_receiving() noexcept { ::shutdown(socket_.get(), SHUT_RD); }

private:
    Descriptor socket_;
    std::mutex mutex_;
    LineBuffer received_;
};

}  // namespace hpo::worker
