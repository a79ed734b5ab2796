// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "support/command_line.hpp"

namespace hpo::tune {

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
void add_run(tools::CommandLine& line);
void add_try(tools::CommandLine& line);
void add_evaluate(tools::CommandLine& line);
void add_check(tools::CommandLine& line);
void add_space(tools::CommandLine& line);
void add_trace(tools::CommandLine& line);
void add_estimate(tools::CommandLine& line);
void add_serve(tools::CommandLine& line);
void add_enqueue(tools::CommandLine& line);
void add_retry(tools::CommandLine& line);
void add_policies(tools::CommandLine& line);
void add_doctor(tools::CommandLine& line);
void add_init(tools::CommandLine& line);
void add_new_plugin(tools::CommandLine& line);
void add_check_plugin(tools::CommandLine& line);
void add_install_service(tools::CommandLine& line);

/// `hpo-tune estimate OPTIONS -- PROGRAM ARGUMENTS`. Returns the exit code.
int estimate_program(std::vector<std::string> own, std::vector<std::string> program);

}  // namespace hpo::tune
