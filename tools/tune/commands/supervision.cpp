// SPDX-License-Identifier: MIT
#include "tune/commands/supervision.hpp"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>

#include "hpo/base/error.hpp"
#include "hpo/core/field.hpp"
#include "tune/settings/settings.hpp"

namespace hpo::tune {

void add_supervision_options(CLI::App* command, Supervision& typed) {
    command->add_option("--restarts", typed.restarts, "supervised: give up after so many restarts in a row that finish no trial")
        ->type_name("N")
        ->default_str(typed.restarts);
    command->add_option("--restart-pause", typed.pause, "supervised: the first pause before a start; doubles up to 5min")
        ->type_name("DURATION")
        ->default_str(typed.pause);
}

RestartRule::Settings restart_settings(const Supervision& typed) {
    const auto restarts = field_traits<std::int64_t>::parse(typed.restarts);
    constexpr std::int64_t most_restarts = 1'000'000;
    if (!restarts || *restarts < 0 || *restarts > most_restarts)
        throw bad_value("--restarts", "'" + typed.restarts + "'", "a whole number from 0 to 1000000");
    const std::chrono::milliseconds pause = require_timeout("--restart-pause", typed.pause);
    return {.first_pause = pause,
            .longest_pause = std::max(pause, RestartRule::Settings{}.longest_pause),
            .most_in_vain = static_cast<int>(*restarts)};
}

std::vector<std::string> supervision_words(const Supervision& typed) {
    const Supervision standard;
    std::vector<std::string> words{"--supervise"};
    if (typed.restarts != standard.restarts) words.insert(words.end(), {"--restarts", typed.restarts});
    if (typed.pause != standard.pause) words.insert(words.end(), {"--restart-pause", typed.pause});
    return words;
}

}  // namespace hpo::tune
