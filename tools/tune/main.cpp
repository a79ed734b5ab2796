// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "support/command_line.hpp"
#include "support/terminal.hpp"
#include "tune/card/virtual_card.hpp"
#include "tune/commands/commands.hpp"
#include "tune/program/program_recording.hpp"
#include "tune/program/scratch_folder.hpp"

namespace {

void add_commands(hpo::tools::CommandLine& line) {
    using namespace hpo::tune;
    add_run(line);
    add_try(line);
    add_evaluate(line);
    add_check(line);
    add_space(line);
    add_trace(line);
    add_estimate(line);
    add_serve(line);
    add_enqueue(line);
    add_retry(line);
    add_policies(line);
    add_doctor(line);
    add_init(line);
    add_new_plugin(line);
    add_check_plugin(line);
    add_install_service(line);
}

int run(hpo::tools::CommandLine& line) {
    const std::vector<std::string>& words = line.words();
    const auto dashes = std::find(words.begin(), words.end(), "--");
    if (!words.empty() && words.front() == "estimate" && dashes != words.end())
        return hpo::tune::estimate_program({std::next(words.begin()), dashes}, {std::next(dashes), words.end()});
    hpo::tune::require_dashes(words);
    hpo::tune::begin_on_asked_card(words);
    hpo::tune::quieten_card_of_children();
    return line.parse_and_run();
}

}  // namespace

int main(int argc, char** argv) {
    const hpo::tools::VisibleStreams streams;
    if (argc > 1 && argv[1] == std::string_view{hpo::tune::scratch_word}) return hpo::tune::become_program({argv + 2, argv + argc});
    if (argc > 1 && argv[1] == std::string_view{hpo::tune::recording_word}) return hpo::tune::record_program({argv + 2, argv + argc});
    hpo::tools::CommandLine line{
        {.name = "hpo-tune",
         .summary = "hpo-tune: hyperparameter optimisation that survives the GPU",
         .footer = "A first study:\n"
                   "  hpo-tune init first_study && hpo-tune check first_study.lua && hpo-tune run first_study.lua\n"
                   "A program that calls study.optimize of Optuna, as it is:\n"
                   "  hpo-tune run -- python train.py\n" +
                   std::string{hpo::tune::exit_codes},
         .failed_status = 2},
        {argv + 1, argv + argc},
        {"run", "check"}};
    add_commands(line);
    return line.run_and_report_errors([&line] { return run(line); });
}
