// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "hpo/worker/supervisor/process.hpp"

namespace hpo::worker {

/// What a process said, and how it ended.
struct ProcessOutput {
    std::string text;
    std::optional<ProcessExit> exit;  ///< nullopt: its time was over
};

/// The most bytes that are read. A process that writes more is killed.
inline constexpr std::size_t most_output_bytes = std::size_t{64} << 20U;

/// Reads what a process writes to the other end of a socket until the process ends. After `limit` it kills the process. It does not wait
/// for processes that it left behind with the socket open.
[[nodiscard]] ProcessOutput read_to_end(Process& process, int socket, std::optional<std::chrono::milliseconds> limit);

}  // namespace hpo::worker
