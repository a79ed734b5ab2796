// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hpo::tune {

/// What each subcommand does once the command line is parsed; the result is the exit code.
class Actions {
public:
    /// `words` are those of the command line, without the program.
    Actions(std::vector<std::string> words, std::vector<std::string> behind_dashes)
        : words_{std::move(words)}, behind_dashes_{std::move(behind_dashes)} {}
    /// Of `run` and `check`: the words behind "--".
    [[nodiscard]] const std::vector<std::string>& behind_dashes() const noexcept { return behind_dashes_; }
    [[nodiscard]] const std::vector<std::string>& words() const noexcept { return words_; }
    void on(CLI::App* command, std::function<int()> action) { actions_.emplace_back(command, std::move(action)); }
    [[nodiscard]] int run() const {
        for (const auto& [command, action] : actions_) {
            if (command->parsed()) return action();
        }
        return 2;
    }

private:
    std::vector<std::string> words_, behind_dashes_;
    std::vector<std::pair<CLI::App*, std::function<int()>>> actions_;
};

/// @name A card that is not there (card_option.cpp)
/// @{
/// For the help: the options are taken away before a command sees them.
void show_card_option(CLI::App* command);
/// Throws Error if a program that is to be predicted does not stand behind "--".
void require_dashes(const std::vector<std::string>& words);
/// If the words of a command line ask for such a card, this program begins anew on it. Throws Error for what does not go together with it.
void begin_on_asked_card(std::vector<std::string> words);
/// @}

/// For the end of a command's help.
inline constexpr const char* exit_codes =
    "Exit codes: 0 done, 1 a check or every trial failed, 2 wrong use, script or configuration, 3 store, 4 no device,\n"
    "            5 the run was ended by its breaker, 6 plugin, 7 the program of `estimate -- PROGRAM` failed, 130 interrupted";

/// What of a study `hpo-tune run` understands (add_study_arguments).
[[nodiscard]] const std::vector<std::string>& words_of_run();

// One file for each subcommand.
void add_run(CLI::App& app, Actions& actions);
void add_try(CLI::App& app, Actions& actions);
void add_evaluate(CLI::App& app, Actions& actions);
void add_check(CLI::App& app, Actions& actions);
void add_space(CLI::App& app, Actions& actions);
void add_trace(CLI::App& app, Actions& actions);
void add_estimate(CLI::App& app, Actions& actions);
void add_serve(CLI::App& app, Actions& actions);
void add_retry(CLI::App& app, Actions& actions);
void add_policies(CLI::App& app, Actions& actions);
void add_doctor(CLI::App& app, Actions& actions);
void add_init(CLI::App& app, Actions& actions);
void add_new_plugin(CLI::App& app, Actions& actions);
void add_check_plugin(CLI::App& app, Actions& actions);
void add_install_service(CLI::App& app, Actions& actions);

/// `hpo-tune estimate OPTIONS -- PROGRAM ARGUMENTS`. Returns the exit code.
int estimate_program(std::vector<std::string> own, std::vector<std::string> program);

}  // namespace hpo::tune
