// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace hpo::tools {

/// A program of subcommands: reads the command line, runs the subcommand that it names, and tells an error on one line.
class CommandLine {
public:
    struct About {
        std::string name;     ///< of the program
        std::string summary;  ///< the first line of its help
        std::string footer;   ///< the end of its help
        int failed_status;    ///< the exit status of an exception that is no hpo::Error, and of output that cannot be written
    };
    /// `words` are those of the command line, without the program. Of the commands in `with_program`, the words behind "--" are another
    /// program's, and are not read.
    CommandLine(const About& about, std::vector<std::string> words, const std::vector<std::string>& with_program = {});

    [[nodiscard]] CLI::App& app() noexcept { return app_; }
    /// All of them, also those behind "--".
    [[nodiscard]] const std::vector<std::string>& words() const noexcept { return words_; }
    /// Of the commands that take a program: the words behind "--".
    [[nodiscard]] const std::vector<std::string>& behind_dashes() const noexcept { return behind_dashes_; }

    /// A subcommand. `on` says what it does.
    CLI::App* add(const std::string& command, const std::string& help) { return app_.add_subcommand(command, help); }
    /// An option whose value, such as a "folder", stands behind "=" only, so that it never takes the next word.
    void takes_value_after_equals(std::string option, std::string value) { with_equals_[std::move(option)] = std::move(value); }
    /// What the subcommand does once the words are read. Its result is the exit status.
    void on(CLI::App* command, std::function<int()> action) { actions_.emplace_back(command, std::move(action)); }

    /// Reads the words and runs the subcommand.
    int parse_and_run();
    /// Runs `work`, such as `parse_and_run`. Whatever it throws, or output that cannot be written, becomes one line on stderr and the exit
    /// status.
    int run_and_report_errors(const std::function<int()>& work);

private:
    [[nodiscard]] std::string explain(const CLI::ParseError& error) const;
    [[nodiscard]] const std::string* first_word() const;
    [[nodiscard]] int refuse(const std::string& what, int status) const;

    CLI::App app_;
    int failed_status_;
    std::vector<std::string> words_, behind_dashes_, read_;
    std::map<std::string, std::string> with_equals_;
    std::vector<std::pair<CLI::App*, std::function<int()>>> actions_;
};

}  // namespace hpo::tools
