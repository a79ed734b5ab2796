// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "hpo/worker/protocol.hpp"

namespace hpo::worker {

/// A worker's answer to a question, or why there is none.
struct Reply {
    std::optional<Answered> answer;
    std::string silence;
    double seconds = 0;        ///< that it took
    bool late = false;         ///< true if the time for the answer has passed
    bool interrupted = false;  ///< true if PoolConfig::stop_requested ended the wait for the answer

    [[nodiscard]] static Reply given_up() { return {.answer = std::nullopt, .silence = "the question was given up", .interrupted = true}; }
};

}  // namespace hpo::worker
