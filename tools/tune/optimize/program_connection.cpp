// SPDX-License-Identifier: MIT
#include "tune/optimize/program_connection.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/base/error.hpp"

namespace hpo::tune {
namespace {

using tools::Json;

constexpr std::size_t longest_line = std::size_t{1} << 30U;

worker::Descriptor listening_at(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    constexpr std::size_t most = sizeof address.sun_path - 32;  // the program adds to the path
    if (path.size() > most)
        throw Error{Errc::usage,
                    "TMPDIR: the path " + path + " is too long for a socket; expected at most " + std::to_string(most) + " bytes"};
    std::memcpy(address.sun_path, path.data(), path.size());
    worker::Descriptor socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(socket.get(), 64) != 0)
        throw Error{Errc::usage, path + ": cannot listen for the program: " + std::strerror(errno)};
    return socket;
}

bool has(const worker::Descriptor& descriptor, short event) {
    pollfd polled{descriptor.get(), event, 0};
    return ::poll(&polled, 1, 0) > 0 && (polled.revents & event) != 0;
}

}  // namespace

ProgramConnection::ProgramConnection(const std::filesystem::path& socket) : listener_{listening_at(socket.string())} {}

void ProgramConnection::accept(int ended, int timeout_ms) {
    std::array<pollfd, 2> watched{{{listener_.get(), POLLIN, 0}, {ended, POLLIN, 0}}};
    ::poll(watched.data(), watched.size(), timeout_ms);
    worker::Descriptor connection{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    if (!connection) return;
    std::swap(connection_, connection);
    lines_.emplace(connection_.get(), longest_line);
}

void ProgramConnection::say(const Json& message) {
    const std::string line = tools::one_line_text(message) + "\n";
    std::string_view rest = line;
    while (connection_ && !rest.empty()) {
        const ssize_t sent = ::send(connection_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return close();
        rest.remove_prefix(static_cast<std::size_t>(sent));
    }
}

std::optional<Json> ProgramConnection::hear(int timeout_ms) {
    turn_others_away();
    RequestLines::Line line;
    switch (lines_->next(line, timeout_ms)) {
        case RequestLines::State::nothing_yet: return std::nullopt;
        case RequestLines::State::end: close(); return std::nullopt;
        case RequestLines::State::line: break;
    }
    Json message = line.is_too_long ? Json{} : Json::parse(line.text, nullptr, false);
    if (message.is_object()) return message;
    throw Error{Errc::bad_value, "the program said what hpo cannot read: " + std::string{line.text.substr(0, 80)}};
}

void ProgramConnection::turn_others_away() {
    // A process that connects anew has closed its connection first. So one that waits while the connection is closed is not another.
    while (has(listener_, POLLIN) && !has(connection_, POLLHUP)) {
        worker::Descriptor other{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
        if (!other) return;
        const std::string line = R"({"op": "refused", "busy": true, "message": "another process of the program runs its study with hpo"})"
                                 "\n";
        static_cast<void>(::send(other.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
        turned_away_.push_back(std::move(other));  // closed now, it would lose the answer
    }
}

void ProgramConnection::close() {
    connection_ = worker::Descriptor{};
    lines_.reset();
}

}  // namespace hpo::tune
