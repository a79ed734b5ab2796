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
