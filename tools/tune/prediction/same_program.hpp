// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "hpo/core/trial.hpp"
#include "hpo/store/sqlite/patience.hpp"
#include "hpo/trainer/trainer.hpp"
#include "tune/settings/settings.hpp"

namespace hpo::tune {

/// What other studies of the store have run that have the same trainer with the same options.
struct SameProgram {
    static constexpr std::size_t most_trials = 1000;

    std::vector<Trial> trials;         ///< the latest, the oldest first
    std::vector<std::string> studies;  ///< the names of theirs
};

/// Nothing for a trainer that predicts its peaks itself, because its predictions are better than what is learned. Other programs are no
/// such trainer, because a virtual card cannot predict all of them. Nothing of a store that cannot be read, either. Throws
/// Error{store_unavailable} for one that is locked for longer than `patience` waits.
[[nodiscard]] SameProgram read_same_program(const Settings& settings, const TrainerInfo& info, const store::PatienceOptions& patience);

}  // namespace hpo::tune
