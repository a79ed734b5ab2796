// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "tune/settings/settings.hpp"
#include "tune/study_run/study_run.hpp"

namespace hpo::tune {

/// `hpo-tune run OPTIONS -- PROGRAM ARGUMENTS`: runs the program, and each study whose `optimize` it calls. Returns the exit status of the
/// program, or that of a study which the program has not heard of.
[[nodiscard]] int run_program(const StudyArguments& arguments, const RunOptions& options);

/// `hpo-tune check OPTIONS -- PROGRAM ARGUMENTS`: starts the program, tells how the study of its first call of optimize would be run, and
/// ends the program there. No trial is run. Returns the exit status.
[[nodiscard]] int check_program(const StudyArguments& arguments, bool as_json);

/// An objective in a Python file, as `hpo-tune run FILE.py:NAME ARGUMENTS` says it.
struct NamedObjective {
    std::string directions = "minimize";  ///< or maximize; for several values with commas
    std::string metric = "value";
    std::string python = "python3";
    std::vector<std::string> arguments;  ///< of the file
};

/// True for FILE.py:NAME.
[[nodiscard]] bool names_objective(const std::string& script);

/// The study of such an objective.
[[nodiscard]] StudyArguments objective_study(StudyArguments arguments, const NamedObjective& objective);

}  // namespace hpo::tune
