// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "hpo/trainer/trainer.hpp"

namespace hpo::worker {

/// What a trainer says to a check: what is wrong, and the lines that it logged while it looked.
struct CheckAnswer {
    std::vector<TrainerProblem> problems;
    std::vector<std::string> remarks;
};

}  // namespace hpo::worker
