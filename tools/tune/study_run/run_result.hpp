// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "hpo/tuner/options.hpp"
#include "tune/settings/settings.hpp"
#include "tune/study_run/model_keeper.hpp"

namespace hpo::tune {

/// Why the breaker ended the run, and what was tried.
[[nodiscard]] std::string trip_text(const BreakerTrip& trip);

/// The line that names the command which goes on with the study. Empty if that command would try nothing.
[[nodiscard]] std::string next_line(const TuneResult& result, const Settings& settings, std::int64_t wanted);

struct ResultStyle {
    bool json = false;
    bool names_next = true;  ///< with `next_line`, if it is a text
};

/// Prints what came of the run, as text or as JSON. `wanted` are the trials that it should have in all. `kept` is nothing where no models
/// are kept.
void print_result(const TuneResult& result, const Settings& settings, std::int64_t wanted, const std::optional<KeptModel>& kept,
                  const ResultStyle& style);

/// Trials of the run that ended because a rule of the script failed.
struct RuleErrors {
    std::size_t trials = 0;
    std::string latest{};
};

/// The exit status of the run. Says why on standard error if the run did not do what was asked.
[[nodiscard]] int exit_status(const TuneResult& result, const std::optional<KeptModel>& kept, const RuleErrors& rule_errors);

}  // namespace hpo::tune
