// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "tune/study_run/supervisor.hpp"

namespace hpo::tune {

/// What a person typed about the supervisor.
struct Supervision {
    std::string restarts = "10";
    std::string pause = "1s";
};

void add_supervision_options(CLI::App* command, Supervision& typed);

/// Throws Error if a value is wrong.
[[nodiscard]] RestartRule::Settings restart_settings(const Supervision& typed);

/// The words of `hpo-tune run` that say the same.
[[nodiscard]] std::vector<std::string> supervision_words(const Supervision& typed);

}  // namespace hpo::tune
