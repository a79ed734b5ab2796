// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hpo/core/plan.hpp"
#include "hpo/core/study.hpp"
#include "hpo/core/value.hpp"

namespace hpo::script {

/// What a study optimises: one metric of its trainer.
struct Objective {
    std::string metric;
    Direction direction = Direction::maximize;
    std::string place{};  ///< where the script says its metric, "study.lua:7": for errors that are found later
};

/// An option of the script, set with `--set name=value`.
struct ScriptOption {
    std::string name;
    Value standard;  ///< the default; its type is the option's type
    Value value;
    std::string help;
};

/// The content of a study script without its functions.
struct StudyDescription {
    std::string name;
    std::string trainer;
    std::map<std::string, Value, std::less<>> trainer_options;
    std::vector<Objective> objectives;   ///< at least one
    std::optional<std::string> sampler;  ///< policies are written as on the command line: "tpe:startup_trials=20"
    std::optional<std::string> pruner;
    std::optional<std::string> guard;
    std::optional<std::string> recovery;
    /// Further options of `hpo-tune run` as text, by their command-line names without the leading dashes ("device-memory").
    std::map<std::string, std::string, std::less<>> run_options;
    /// Where the script says an option or a policy, "study.lua:7", by its command-line name. For errors that are found later.
    std::map<std::string, std::string, std::less<>> places;
    std::map<std::string, Value, std::less<>> fixed_params;           ///< `fix`: parameters that are not searched
    std::vector<std::map<std::string, Value, std::less<>>> enqueued;  ///< `enqueue`: values of the first trials of a new study
    ExecutionPlan plan;                                               ///< `plan`: the plan of first attempts; only levers are set
    std::vector<ScriptOption> options;                                ///< in the order of their declarations
    bool asks_while_running = false;  ///< the trainer's program asks for its parameters itself, so there is no space
    bool has_on_oom = false;
    bool has_on_failure = false;
};

}  // namespace hpo::script
