// SPDX-License-Identifier: MIT
#include "tune/settings/printed_command.hpp"

#include "support/text.hpp"

namespace hpo::tune {

std::vector<std::string> run_words(const Settings& settings, const std::map<std::string, std::string>& changed) {
    const StudyArguments& typed = settings.arguments();
    std::vector<std::string> command{"run"};
    if (typed.program.empty()) command.push_back(typed.script);
    const auto add = [&](const std::string& option, const std::vector<std::string>& values) {
        for (const std::string& value : values) command.insert(command.end(), {"--" + option, value});
    };
    std::map<std::string, std::string> words = typed.words;
    words.erase("save-best");
    if (!typed.program.empty())  // its study may have got another name than the program gave it
        words.insert({{"study", settings.text("study")}, {"store", settings.text("store")}});
    if (typed.in_program) {
        command.insert(command.end(), {"--isolation", "none"});
        words.erase("guard");  // these two follow from it
        words.erase("recovery");
    }
    for (const auto& [word, text] : changed) words[word] = text;
    for (const auto& [word, text] : words) add(word, {text});
    add("set", typed.set);
    add("trainer-option", typed.trainer_option);
    add("fix", typed.fix);
    add("plan", typed.plan);
    std::vector<std::string> folders = typed.plugin_dirs;
    if (settings.description().run_options.contains("plugin-dir")) folders.pop_back();  // the script says it again
    add("plugin-dir", folders);
    if (typed.save_best == "true") command.emplace_back("--save-best");
    else if (!typed.save_best.empty()) command.push_back("--save-best=" + typed.save_best);
    if (typed.supervise) command.emplace_back("--supervise");
    if (typed.accept_changed_options && typed.program.empty()) command.emplace_back("--accept-changed-options");
    if (!typed.program.empty()) command.emplace_back("--");
    command.insert(command.end(), typed.program.begin(), typed.program.end());
    command.insert(command.end(), typed.objective.begin(), typed.objective.end());
    return command;
}

std::string run_command(const Settings& settings, const std::map<std::string, std::string>& changed) {
    std::string command = "hpo-tune";
    for (const std::string& word : run_words(settings, changed)) command += " " + tools::shell_quoted(word);
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
