// SPDX-License-Identifier: MIT
// The options of a command line that say which study is meant, and how it runs.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tune/settings/known_words.hpp"
#include "tune/settings/settings.hpp"

namespace hpo::tune {

void add_study_arguments(CLI::App* command, const std::shared_ptr<StudyArguments>& arguments, const std::vector<std::string>& words) {
    command->add_option("SCRIPT", arguments->script, "the study script (Lua)")->required();
    command->add_option("--set", arguments->set, "NAME=VALUE of an hpo.option of the script (repeatable)");
    command->add_option("--trainer-option", arguments->trainer_option,
                        "NAME=VALUE of an option of the trainer, such as epochs (repeatable)");
    command->add_option("--fix", arguments->fix, "NAME=VALUE of a parameter that is then not searched (repeatable)");
    command->add_option("--plan", arguments->plan, "KEY=VALUE of a lever that first attempts begin with: micro_batch=8 (repeatable)");
    command->add_option("--plugin-dir", arguments->plugin_dirs, "a folder with trainer plugins (repeatable; also HPO_PLUGIN_PATH)")
        ->allow_extra_args(false);
    if (std::find(words.begin(), words.end(), "accept-changed-options") != words.end()) {
        command->add_flag("--accept-changed-options", arguments->accept_changed_options,
                          "accept a study whose trials have other options of the trainer");
    }
    for (const KnownWord& word : known_words) {
        if (std::find(words.begin(), words.end(), word.name) == words.end()) continue;
        if (std::string_view{word.name} == "save-best") {  // a flag, so that it never takes the script for its folder
            command->add_flag("--save-best{true}", arguments->save_best, word.help);
            continue;
        }
        auto* option = command->add_option_function<std::string>(
            std::string{"--"} + word.name,
            [arguments, name = std::string{word.name}](const std::string& text) { arguments->words[name] = text; }, word.help);
        option->type_name(word.value)->check(not_empty(word.value));
        if (*word.standard != '\0') option->default_str(word.standard);
    }
}

CLI::Validator not_empty(const std::string& expected) {
    return {[expected](const std::string& text) { return text.empty() ? "got ''; expected " + expected : std::string{}; }, ""};
}

}  // namespace hpo::tune
