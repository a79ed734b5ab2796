// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace hpo::tune {

/// " --plugin-dir DIR" for each, for a command that a person may paste into a shell.
[[nodiscard]] std::string plugin_dir_words(const std::vector<std::string>& plugin_dirs);
/// The command that measures a saved model again.
[[nodiscard]] std::string evaluate_command(const std::string& model_folder, const std::vector<std::string>& plugin_dirs);

}  // namespace hpo::tune
