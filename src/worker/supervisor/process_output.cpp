// SPDX-License-Identifier: MIT
#include "hpo/worker/supervisor/process_output.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace hpo::worker {

ProcessOutput read_to_end(Process& process, int socket, std::optional<std::chrono::milliseconds> limit) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    ProcessOutput heard;
    std::array<char, 65536> bytes;
    for (bool open = true;;) {
        // Everything that it wrote is readable once it has ended. So look whether it has ended first, and read after that.
        heard.exit = process.exit();
        for (ssize_t got = 0; open && ((got = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT)) >= 0 || errno != EAGAIN);) {
            if (got > 0) heard.text.append(bytes.data(), static_cast<std::size_t>(got));
            else if (got == 0 || errno != EINTR) open = false;
            if (heard.text.size() > most_output_bytes) open = false;
        }
        if (heard.exit) return heard;
        if (heard.text.size() > most_output_bytes) break;  // the process would wait until somebody reads on
        int wait_ms = -1;
        if (limit) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(begin + *limit - Clock::now());
            if (left.count() <= 0) break;
            wait_ms = static_cast<int>(std::min<std::int64_t>(left.count(), 3'600'000));
        }
        std::array<::pollfd, 2> entries{{{process.handle(), POLLIN, 0}, {open ? socket : -1, POLLIN, 0}}};
        ::poll(entries.data(), entries.size(), wait_ms);
    }
    process.signal(SIGKILL);
    process.wait();
    return heard;
}

}  // namespace hpo::worker
