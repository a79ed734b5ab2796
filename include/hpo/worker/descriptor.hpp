// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "hpo/base/error.hpp"

namespace hpo::worker {

/// The error `WHAT: WHY` for a system call that has just failed.
[[nodiscard]] inline Error system_failure(const std::string& what) { return Error{Errc::plugin, what + ": " + std::strerror(errno)}; }

/// Owns a file descriptor.
class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int number) : number_{number} {}
    Descriptor(Descriptor&& other) noexcept : number_{std::exchange(other.number_, -1)} {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    [[nodiscard]] int get() const noexcept { return number_; }
    [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }
    explicit operator bool() const noexcept { return number_ >= 0; }

private:
    int number_ = -1;
};

/// Two connected ends. A program that is started inherits neither.
struct SocketPair {
    Descriptor ours;
    Descriptor theirs;

    [[nodiscard]] static SocketPair make() {
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw system_failure("cannot make a socket pair");
        return {Descriptor{ends[0]}, Descriptor{ends[1]}};
    }
};

}  // namespace hpo::worker
