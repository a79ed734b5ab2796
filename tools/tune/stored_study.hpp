// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/param_set.hpp"
#include "hpo/core/study.hpp"
#include "hpo/core/trial.hpp"
#include "settings.hpp"

namespace hpo::tune {

/// What a study keeps in its user attributes for all its trials, since values of different ones cannot be compared: key and value.
[[nodiscard]] std::array<std::pair<std::string, std::string>, 2> identity(const Settings& settings);

/// Throws bad_value where the stored study has another trainer or metric than the script.
void require_same_identity(const Study& stored, const Settings& settings);

/// Throws bad_value where the script's parameters do not go with those of the study's trials.
void require_same_parameters(const std::vector<Trial>& stored, const std::vector<ParamSet>& proposals);

}  // namespace hpo::tune
