// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/trainer/trainer.hpp"

namespace hpo::command {

/// The texts that may stand in a command line as {NAME}.
using Placeholders = std::map<std::string, std::string, std::less<>>;

/// The words of the option `arguments`, a JSON list of texts. Throws hpo::Error if it is something else, or empty.
[[nodiscard]] std::vector<std::string> words_of(std::string_view arguments);

/// Every parameter of the job by its name, `plan.NAME` for what the trainer obeys of the plan, `plan.accumulation_steps`, `plan.device`,
/// `trial`, `attempt`, `study`, `seed`, `metric`, `checkpoint_folder`, `resume_step`. The device is as the program sees it. What the job
/// does not have is missing. A parameter hides another value of its name.
[[nodiscard]] Placeholders placeholders_of(const hpo::TrainerJob& job);

/// The word with each {NAME} replaced. A NAME begins with a letter or `_` and goes on with letters, digits, `_`, `.` and `-`. `{{NAME}}`
/// becomes `{NAME}`. All other braces stay. What is put in is never looked at again. Throws hpo::Error if a NAME is unknown.
[[nodiscard]] std::string filled(std::string_view word, const Placeholders& known);

/// The names that stand in the words as {NAME}, each once, in their order.
[[nodiscard]] std::vector<std::string> names_in(const std::vector<std::string>& words);

/// The file that an interpreter of these words would run, if it is not there; else an empty text. Known are Python, shells, Perl, Ruby, R,
/// Julia, Node and Lua, and a file that stands behind options of one word. Known are also torchrun, accelerate and deepspeed, which start
/// the first file of Python among their words, and `env NAME=VALUE` before any of them.
[[nodiscard]] std::string missing_file(const std::vector<std::string>& words);

}  // namespace hpo::command
