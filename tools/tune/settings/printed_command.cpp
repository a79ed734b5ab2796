// SPDX-License-Identifier: MIT
#include "tune/settings/printed_command.hpp"

#include "support/text.hpp"

namespace hpo::tune {

std::string run_command(const Settings& settings, const std::map<std::string, std::string>& changed) {
    const StudyArguments& typed = settings.arguments();
    std::string command = "hpo-tune run " + tools::shell_quoted(typed.script);
    const auto add = [&](const std::string& option, const std::vector<std::string>& values) {
        for (const std::string& value : values) command += " --" + option + " " + tools::shell_quoted(value);
    };
    std::map<std::string, std::string> words = typed.words;
    words.erase("save-best");
    for (const auto& [word, text] : changed) words[word] = text;
    for (const auto& [word, text] : words) add(word, {text});
    add("set", typed.set);
    add("trainer-option", typed.trainer_option);
    add("fix", typed.fix);
    add("plan", typed.plan);
    std::vector<std::string> folders = typed.plugin_dirs;
    if (settings.description().run_options.contains("plugin-dir")) folders.pop_back();  // the script says it again
    command += plugin_dir_words(folders);
    if (typed.save_best == "true") command += " --save-best";
    else if (!typed.save_best.empty()) command += " --save-best=" + tools::shell_quoted(typed.save_best);
    if (typed.supervise) command += " --supervise";
    if (typed.accept_changed_options) command += " --accept-changed-options";
    return command;
}

std::string plugin_dir_words(const std::vector<std::string>& plugin_dirs) {
    std::string words;
    for (const std::string& folder : plugin_dirs) words += " --plugin-dir " + tools::shell_quoted(folder);
    return words;
}

std::string evaluate_command(const std::string& model_folder, const std::vector<std::string>& plugin_dirs) {
    return "hpo-tune evaluate " + tools::shell_quoted(model_folder) + plugin_dir_words(plugin_dirs);
}

}  // namespace hpo::tune
