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
    bool interrupted = false;  ///< nobody waited for the answer: PoolConfig::stop_requested

    [[nodiscard]] static Reply given_up() { return {.answer = std::nullopt, .silence = "the question was given up", .interrupted = true}; }
};

}  // namespace hpo::worker
