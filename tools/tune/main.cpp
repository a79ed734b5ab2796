// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/base/error.hpp"
#include "support/terminal.hpp"
#include "support/text.hpp"
#include "tune/card/virtual_card.hpp"
#include "tune/commands/commands.hpp"
#include "tune/program/program_estimate.hpp"
#include "tune/program/program_recording.hpp"
#include "tune/program/scratch_folder.hpp"

namespace {

/// The subcommands' names, for a word that is nearly one.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(command->get_name());
    if (argc > 1 && argv[1][0] != '-' && std::find(names.begin(), names.end(), argv[1]) == names.end()) {
        return hpo::unknown_name("command line", "command", argv[1], names).what();
    }
    for (int i = 2; i + 1 < argc; ++i) {
        if (argv[i] == std::string_view{"--save-best"} && argv[i + 1][0] != '-' && dynamic_cast<const CLI::ExtrasError*>(&error))
            return "command line: --save-best takes its folder after =: --save-best=" + hpo::tools::shell_quoted(argv[i + 1]);
    }
    std::string what = error.what();
    for (auto& c : what) c = c == '\n' ? ' ' : c;
    std::string which;
    for (const CLI::App* command : app.get_subcommands()) {
        which = command->get_name() + " ";
        std::vector<std::string> options;
        for (const CLI::Option* option : command->get_options()) {
            for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
        }
        for (int i = 2; i < argc; ++i) {
            const std::string word = argv[i];
            const std::string option = word.substr(0, word.find('='));
            if (option.starts_with("--") && std::find(options.begin(), options.end(), option) == options.end()) {
                const std::string unknown = hpo::unknown_name("command line", "option", option, options).what();
                return unknown + (unknown.ends_with(" more") ? ": hpo-tune " + which + "--help" : "");
            }
        }
    }
    return "command line: " + what + "; see hpo-tune " + which + "--help";
}

/// One line on stderr, `hpo-tune: error: ...`.
int refuse(const std::string& what, int status) {
    std::cerr << "hpo-tune: error: " << hpo::tools::on_one_line(what) << "\n";
    return status;
}

}  // namespace

int main(int argc, char** argv) {
    const hpo::tools::VisibleStreams streams;
    if (argc > 1 && argv[1] == std::string_view{hpo::tune::scratch_word}) return hpo::tune::become_program({argv + 2, argv + argc});
    if (argc > 1 && argv[1] == std::string_view{hpo::tune::recording_word}) return hpo::tune::record_program({argv + 2, argv + argc});
    CLI::App app{"hpo-tune: hyperparameter optimisation that survives the GPU"};
    app.require_subcommand(1);
    app.set_version_flag("--version", HPO_VERSION);
    app.footer(
        "A first study:\n"
        "  hpo-tune init first_study && hpo-tune check first_study.lua && hpo-tune run first_study.lua\n"
        "A program that calls study.optimize of Optuna, as it is:\n"
        "  hpo-tune run -- python train.py\n" +
        std::string{hpo::tune::exit_codes});
    const std::vector<std::string> words{argv + 1, argv + argc};
    const auto dashes = std::find(words.begin(), words.end(), "--");
    const bool runs_program = !words.empty() && (words[0] == "run" || words[0] == "check") && dashes != words.end();
    if (runs_program) argc = static_cast<int>(dashes - words.begin()) + 1;
    hpo::tune::Actions actions{words, runs_program ? std::vector<std::string>{dashes + 1, words.end()} : std::vector<std::string>{}};
    hpo::tune::add_run(app, actions);
    hpo::tune::add_try(app, actions);
    hpo::tune::add_evaluate(app, actions);
    hpo::tune::add_check(app, actions);
    hpo::tune::add_space(app, actions);
    hpo::tune::add_trace(app, actions);
    hpo::tune::add_estimate(app, actions);
    hpo::tune::add_serve(app, actions);
    hpo::tune::add_retry(app, actions);
    hpo::tune::add_policies(app, actions);
    hpo::tune::add_doctor(app, actions);
    hpo::tune::add_init(app, actions);
    hpo::tune::add_new_plugin(app, actions);
    hpo::tune::add_check_plugin(app, actions);
    hpo::tune::add_install_service(app, actions);
    try {
        int status = 0;
        if (!words.empty() && words[0] == "estimate" && dashes != words.end()) {
            status = hpo::tune::estimate_program({words.begin() + 1, dashes}, {dashes + 1, words.end()});
        } else {
            hpo::tune::require_dashes(words);
            hpo::tune::begin_on_asked_card(words);
            hpo::tune::quieten_card_of_children();
            app.parse(argc, argv);
            status = actions.run();
        }
        std::cout.flush();
        if (!std::cout) throw hpo::Error{hpo::Errc::usage, "standard output: cannot be written; the result is not there in full"};
        return status;
    } catch (const CLI::ParseError& error) {
        // --help, --version. The help of a command that there is not is no answer.
        if (error.get_exit_code() == 0 && (argc < 2 || argv[1][0] == '-' || !app.get_subcommands().empty())) return app.exit(error);
        return refuse(usage_error(app, error, argc, argv), 2);
    } catch (const hpo::tune::ProgramFailed& error) {
        return refuse(error.what(), hpo::tune::program_failed_status);
    } catch (const hpo::Error& error) {
        return refuse(error.what(), hpo::exit_code(error.code()));
    } catch (const std::exception& error) {
        return refuse(error.what(), 2);
    }
}
