// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "hpo/tuner/options.hpp"
#include "tune/settings/settings.hpp"
#include "tune/study_run/model_keeper.hpp"

namespace hpo::tune {

/// Prints what came of the run, as text or as JSON. `kept` is nothing where no models are kept.
void print_result(const TuneResult& result, const Settings& settings, const std::optional<KeptModel>& kept, bool as_json);

/// The exit status of the run. Says why on standard error if the run did not do what was asked.
[[nodiscard]] int exit_status(const TuneResult& result, const std::optional<KeptModel>& kept);

}  // namespace hpo::tune
