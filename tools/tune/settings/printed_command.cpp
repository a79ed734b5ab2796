// SPDX-License-Identifier: MIT
#include "tune/settings/printed_command.hpp"

#include "support/text.hpp"

namespace hpo::tune {

std::string plugin_dir_words(const std::vector<std::string>& plugin_dirs) {
    std::string words;
    for (const std::string& folder : plugin_dirs) words += " --plugin-dir " + tools::shell_quoted(folder);
    return words;
}

std::string evaluate_command(const std::string& model_folder, const std::vector<std::string>& plugin_dirs) {
    return "hpo-tune evaluate " + tools::shell_quoted(model_folder) + plugin_dir_words(plugin_dirs);
}

}  // namespace hpo::tune
