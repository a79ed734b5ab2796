// SPDX-License-Identifier: MIT
#include "fork_request.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "hpo/base/error.hpp"
#include "hpo/store/json_text.hpp"
#include "hpo/worker/descriptor.hpp"

namespace hpo::command {
namespace {

using hpo::worker::Descriptor;

/// What an attempt's child takes over of the worker's environment. All else is as the program has it.
constexpr std::array<std::string_view, 6> passed_on{"HPO_", "CUDA_", "PYTORCH_", "OMP_", "MKL_", "OPENBLAS_"};

Descriptor connected(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        throw hpo::bad_value("HPO_FORK_SOCKET", "a path of " + std::to_string(path.size()) + " bytes", "at most 107");
    std::memcpy(address.sun_path, path.data(), path.size());
    Descriptor socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (!socket) throw hpo::worker::system_failure("command: cannot make a socket");
    int status = 0;
    do status = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    while (status != 0 && errno == EINTR);
    if (status != 0) {
        throw hpo::Error{hpo::Errc::plugin,
                         std::string{"the program that calls optimize does not answer ("} + std::strerror(errno) + "); it may have ended"};
    }
    return socket;
}

std::string message_of(const hpo::worker::Environment& environment) {
    hpo::store::Json variables = hpo::store::Json::object();
    for (const std::string& entry : environment) {
        const std::size_t equals = entry.find('=');
        if (std::ranges::none_of(passed_on, [&](std::string_view prefix) { return entry.starts_with(prefix); })) continue;
        if (equals != std::string::npos) variables[entry.substr(0, equals)] = entry.substr(equals + 1);
    }
    const std::string text =
        hpo::store::Json{{"environment", std::move(variables)}}.dump(-1, ' ', false, hpo::store::Json::error_handler_t::replace);
    std::string message;
    for (unsigned shift = 0; shift < 32; shift += 8) message += static_cast<char>((text.size() >> shift) & 0xFFU);
    return message + text;
}

/// Sends the first bytes with the descriptors. Returns how many bytes were sent.
std::size_t send_with(int socket, std::string_view bytes, const std::array<int, 6>& descriptors) {
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof descriptors)> control{};
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};  // NOLINT(cppcoreguidelines-pro-type-const-cast): it is only read
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptors);
    std::memcpy(CMSG_DATA(header), descriptors.data(), sizeof descriptors);
    for (;;) {
        const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
        if (sent >= 0) return static_cast<std::size_t>(sent);
        if (errno != EINTR) throw hpo::worker::system_failure("command: the program that calls optimize cannot be asked for a child");
    }
}

}  // namespace

void request_fork(const std::string& socket_path, const hpo::worker::Environment& environment, const ForkPipes& pipes) {
    const Descriptor socket = connected(socket_path);
    const std::string message = message_of(environment);
    std::string_view rest = message;
    rest.remove_prefix(send_with(socket.get(), rest, pipes.all()));
    while (!rest.empty()) {
        const ssize_t sent = ::send(socket.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) throw hpo::worker::system_failure("command: the program that calls optimize cannot be asked for a child");
        rest.remove_prefix(static_cast<std::size_t>(sent));
    }
}

}  // namespace hpo::command
