// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "hpo/trainer/trainer.hpp"

namespace hpo::worker::inline supervisor {

/// A trainer's answer to a check: the problems, and the lines that it logged meanwhile.
struct CheckAnswer {
    std::vector<TrainerProblem> problems;
    std::vector<std::string> remarks;
};

}  // namespace hpo::worker::supervisor
