// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tune/settings/settings.hpp"

namespace hpo::tune {

/// The words of the command line again, from `run` on. `changed` has other values of its options, by name.
[[nodiscard]] std::vector<std::string> run_words(const Settings& settings, const std::map<std::string, std::string>& changed = {});
/// The command line of `hpo-tune run` again, for a person who pastes it into a shell. `changed` has other values of its options, by name.
[[nodiscard]] std::string run_command(const Settings& settings, const std::map<std::string, std::string>& changed = {});

/// " --plugin-dir DIR" for each, for a command that a person may paste into a shell.
[[nodiscard]] std::string plugin_dir_words(const std::vector<std::string>& plugin_dirs);
/// The command that measures a saved model again.
[[nodiscard]] std::string evaluate_command(const std::string& model_folder, const std::vector<std::string>& plugin_dirs);

}  // namespace hpo::tune
