// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/trainer/trainer.hpp"

namespace hpo::worker {

/// A trainer's answer to a check: the problems, and the lines that it logged meanwhile.
struct CheckAnswer {
    std::vector<TrainerProblem> problems{};
    std::vector<std::string> remarks{};
    std::optional<std::int64_t> held_bytes{};  ///< what the worker holds of the device afterwards, if the trainer marks it
    bool no_memory = false;                    ///< there is no answer, because PoolConfig::question_memory_bytes did not suffice
    bool in_time = true;                       ///< false: there is no answer, because the time that was given for it has passed
};

}  // namespace hpo::worker
