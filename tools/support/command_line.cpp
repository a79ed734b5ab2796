// SPDX-License-Identifier: MIT
#include "support/command_line.hpp"

#include <CLI/Error.hpp>
#include <algorithm>
#include <cstddef>
#include <exception>
#include <iostream>
#include <iterator>

#include "hpo/base/error.hpp"
#include "support/terminal.hpp"
#include "support/text.hpp"

namespace hpo::tools {

CommandLine::CommandLine(const About& about, std::vector<std::string> words, const std::vector<std::string>& with_program)
    : app_{about.summary, about.name}, failed_status_{about.failed_status}, words_{std::move(words)} {
    app_.require_subcommand(1);
    app_.set_version_flag("--version", HPO_VERSION);
    app_.footer(about.footer);
    auto end = words_.cend();
    if (!words_.empty() && std::ranges::find(with_program, words_.front()) != with_program.end())
        end = std::find(words_.cbegin(), words_.cend(), "--");
    read_.assign(words_.cbegin(), end);
    if (end != words_.cend()) behind_dashes_.assign(std::next(end), words_.cend());
}

int CommandLine::parse_and_run() {
    std::vector<std::string> backwards{read_.rbegin(), read_.rend()};  // as CLI11 takes them
    app_.parse(backwards);
    const auto chosen = std::ranges::find_if(actions_, [](const auto& each) { return each.first->parsed(); });
    return chosen == actions_.end() ? exit_code(Errc::usage) : chosen->second();
}

int CommandLine::run_and_report_errors(const std::function<int()>& work) {
    try {
        const int status = work();
        std::cout.flush();
        return std::cout ? status : refuse("standard output: cannot be written; the result is not there in full", failed_status_);
    } catch (const CLI::ParseError& error) {
        // --help, --version. The help of a command that there is not is no answer.
        if (error.get_exit_code() == 0 && (read_.empty() || read_.front().starts_with('-') || !app_.get_subcommands().empty()))
            return app_.exit(error);
        return refuse(explain(error), exit_code(Errc::usage));
    } catch (const Error& error) {
        return refuse(error.what(), exit_code(error.code()));
    } catch (const std::exception& error) {
        return refuse(error.what(), failed_status_);
    }
}

/// The first word that is neither an option of the program itself nor its value. Null if there is none.
const std::string* CommandLine::first_word() const {
    for (std::size_t i = 0; i < read_.size(); ++i) {
        if (!read_[i].starts_with('-')) return &read_[i];
        const CLI::Option* const option = app_.get_option_no_throw(read_[i]);
        if (option != nullptr && option->get_items_expected_max() > 0) ++i;
    }
    return nullptr;
}

std::string CommandLine::explain(const CLI::ParseError& error) const {
    const auto commands = app_.get_subcommands();
    if (commands.empty()) {
        std::vector<std::string> names;
        for (const CLI::App* each : app_.get_subcommands([](const CLI::App*) { return true; })) names.push_back(each->get_name());
        const std::string* const word = first_word();
        if (word != nullptr && std::ranges::find(names, *word) == names.end())
            return unknown_name("command line", "command", *word, names).what();
        return "command line: " + std::string{error.what()} + "; see " + app_.get_name() + " --help";
    }
    const std::string help = app_.get_name() + " " + commands.front()->get_name() + " --help";
    std::vector<std::string> options;
    const auto add_options = [&options](const CLI::App& app) {
        for (const CLI::Option* option : app.get_options()) {
            for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
        }
    };
    add_options(*commands.front());
    if (commands.front()->get_fallthrough()) add_options(app_);  // the program's own options may stand behind a command, too
    std::ranges::sort(options);
    options.erase(std::unique(options.begin(), options.end()), options.end());
    const bool too_many = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    for (std::size_t i = 0; i < read_.size(); ++i) {
        const std::string& word = read_[i];
        const auto with_equals = with_equals_.find(word);
        if (too_many && with_equals != with_equals_.end() && i + 1 < read_.size() && !read_[i + 1].starts_with('-'))
            return "command line: " + word + " takes its " + with_equals->second + " after =: " + word + "=" + shell_quoted(read_[i + 1]);
        const std::string option = word.substr(0, word.find('='));
        if (!option.starts_with("--") || std::ranges::find(options, option) != options.end()) continue;
        const std::string unknown = unknown_name("command line", "option", option, options).what();
        return unknown + (unknown.ends_with(" more") ? ": " + help : "");
    }
    const bool takes_program = commands.front()->help().find("[OPTIONS] -- ") != std::string::npos;
    const std::string behind = too_many && takes_program ? "; a program and its words go behind --" : "";
    return "command line: " + std::string{error.what()} + behind + "; see " + help;
}

int CommandLine::refuse(const std::string& what, int status) const {
    std::cout.flush();
    std::cerr << app_.get_name() << ": error: " << on_one_line(what) << '\n';
    return status;
}

}  // namespace hpo::tools
