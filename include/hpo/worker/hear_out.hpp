// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "hpo/worker/process.hpp"

namespace hpo::worker {

/// What a process said, and how it ended.
struct Heard {
    std::string text;
    std::optional<ProcessExit> exit;  ///< nothing: its time was over
};

/// What is taken in of it; who says more is killed.
inline constexpr std::size_t most_heard_bytes = std::size_t{64} << 20U;

/// Takes in what a process writes to the other end of a socket until it ends, at most for `limit`, and kills it then.
/// What it started and left behind, with the socket open, is not waited for.
[[nodiscard]] Heard hear_out(Process& process, int socket, std::optional<std::chrono::milliseconds> limit);

}  // namespace hpo::worker

#ifndef HPO_COMPILED
#include "hpo/worker/impl/hear_out_inl.hpp"
#endif
