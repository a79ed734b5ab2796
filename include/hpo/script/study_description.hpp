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

/// What a study optimises: a metric of its trainer.
struct Objective {
    std::string metric;
    Direction direction = Direction::maximize;
    friend bool operator==(const Objective&, const Objective&) = default;
};

/// A knob of the script, set with `--set name=value`.
struct ScriptOption {
    std::string name;
    Value standard;  ///< its type is the option's
    Value value;
    std::string help;
};

/// What a study script says, apart from its functions.
struct StudyDescription {
    std::string name;
    std::string trainer;
    std::map<std::string, Value, std::less<>> trainer_options;
    std::vector<Objective> objectives;   ///< at least one
    std::optional<std::string> sampler;  ///< policies as on the command line: "tpe:startup_trials=20"
    std::optional<std::string> pruner;
    std::optional<std::string> guard;
    std::optional<std::string> recovery;
    /// Further options of `hpo-tune run` by their command-line words without the dashes in front ("device-memory"), as text.
    std::map<std::string, std::string, std::less<>> run_options;
    std::map<std::string, Value, std::less<>> fixed_params;  ///< `fix`: parameters that are not searched
    ExecutionPlan plan;                                      ///< `plan`: what first attempts run under; levers alone are set
    std::vector<ScriptOption> options;                       ///< in the order in which they are declared
    bool has_on_oom = false;
    bool has_on_failure = false;
};

}  // namespace hpo::script
