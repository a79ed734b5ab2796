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
    void on(CLI::App* command, std::function<int()> action) { actions_.emplace_back(command, std::move(action)); }
    [[nodiscard]] int run() const {
        for (const auto& [command, action] : actions_) {
            if (command->parsed()) return action();
        }
        return 2;
    }

private:
    std::vector<std::pair<CLI::App*, std::function<int()>>> actions_;
};

/// For the help: main() takes the options away before a command sees them.
inline void show_card_option(CLI::App* command) {
    command
        ->add_option_function<std::string>(
            "--card", [](const std::string&) {}, "a card that is not there, by its name or its size; needs trainers for CUDA")
        ->type_name("NAME|SIZE");
    command
        ->add_option_function<std::string>(
            "--cards", [](const std::string&) {}, "with --card: so many of them (default: 1)")
        ->type_name("N");
}

/// For the end of a command's help.
inline constexpr const char* exit_codes =
    "Exit codes: 0 done, 1 a check or every trial failed, 2 wrong use, script or configuration, 3 store, 4 no device,\n"
    "            6 plugin, 130 interrupted";

// One file for each subcommand.
void add_run(CLI::App& app, Actions& actions);
void add_try(CLI::App& app, Actions& actions);
void add_evaluate(CLI::App& app, Actions& actions);
void add_check(CLI::App& app, Actions& actions);
void add_space(CLI::App& app, Actions& actions);
void add_trace(CLI::App& app, Actions& actions);
void add_estimate(CLI::App& app, Actions& actions);
void add_policies(CLI::App& app, Actions& actions);
void add_doctor(CLI::App& app, Actions& actions);
void add_init(CLI::App& app, Actions& actions);
void add_new_plugin(CLI::App& app, Actions& actions);
void add_check_plugin(CLI::App& app, Actions& actions);

/// `hpo-tune estimate OPTIONS -- PROGRAM ARGUMENTS`. Returns the exit code.
int estimate_program(std::vector<std::string> own, std::vector<std::string> program);

}  // namespace hpo::tune
