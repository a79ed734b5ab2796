// SPDX-License-Identifier: MIT
#include <filesystem>
#include <iostream>
#include <set>
#include <string_view>

#include "hpo/trainer/json.hpp"
#include "hpo/worker/supervisor/plugin_report.hpp"
#include "support/json.hpp"
#include "support/terminal.hpp"
#include "support/text.hpp"
#include "tune/commands/commands.hpp"
#include "tune/device/own_trainer.hpp"
#include "tune/display/text.hpp"

namespace hpo::tune {
namespace {

struct CheckPluginOptions {
    std::string name;
    std::vector<std::string> plugin_dirs;
    std::vector<std::string> fixed;
    std::string time_limit = "10m";
    bool json = false;
};

/// Each problem once, as a line.
std::vector<std::string> lines_of(const worker::PluginReport& report) {
    std::vector<std::string> lines;
    std::set<std::string> seen;
    for (const TrainerProblem& problem : report.problems) {
        std::string line = tools::on_one_line(problem.where + ": " + problem.what);
        if (seen.insert(line).second) lines.push_back(std::move(line));
    }
    return lines;
}

/// A plugin's file stands for its name and its folder.
void take_apart(CheckPluginOptions& options) {
    constexpr std::string_view prefix = "libhpo_trainer_";
    const std::filesystem::path path = options.name;
    const std::string file = path.filename().string();
    const bool is_file = file.starts_with(prefix) && path.extension() == ".so" && file.size() > prefix.size() + 3;
    if (!is_file && !path.has_parent_path()) return;
    if (!is_file)
        throw bad_value("NAME", "'" + options.name + "'", "a plugin's name, such as quadratic, or its file libhpo_trainer_NAME.so");
    if (!std::filesystem::exists(path)) throw Error{Errc::plugin, options.name + ": does not exist; expected a trainer plugin"};
    options.name = file.substr(prefix.size(), file.size() - prefix.size() - 3);
    options.plugin_dirs.insert(options.plugin_dirs.begin(), path.has_parent_path() ? path.parent_path().string() : ".");
}

int check_plugin(CheckPluginOptions options) {
    take_apart(options);
    const worker::PluginReport report = worker::report_on_plugin({.worker_program = worker_program(),
                                                                  .plugin_folders = plugin_folders(options.plugin_dirs),
                                                                  .trainer = options.name,
                                                                  .fixed = options.fixed,
                                                                  .time_limit = require_timeout("--time-limit", options.time_limit)});
    const std::vector<std::string> problems = lines_of(report);
    const int status = report.error ? report.status : problems.empty() ? 0 : exit_code(Errc::check_failed);
    if (options.json) {
        tools::print({{"plugin", report.name},
                      {"file", tools::text_or_null(report.path)},
                      {"ok", status == 0},
                      {"tried", encode(report.tried)},
                      {"problems", problems},
                      {"remarks", report.remarks},
                      {"error", report.error ? tools::Json(*report.error) : tools::Json(nullptr)}});
        return status;
    }
    for (const std::string& remark : report.remarks) std::cout << tools::on_one_line(remark) << "\n";
    for (const std::string& problem : problems) std::cerr << "hpo-tune: error: plugin " << report.name << ": " << problem << "\n";
    if (report.error) std::cerr << "hpo-tune: error: " << tools::clipped(tools::on_one_line(*report.error), 2000) << "\n";
    if (status == 0) {
        std::cout << report.path << ": trainer " << report.name << " keeps the contract; tried with ";
        std::string values;
        for (const auto& [name, value] : report.tried) values += (values.empty() ? "" : ", ") + name + " = " + display_text(value);
        std::cout << (values.empty() ? "its standard values" : values) << "\n";
    } else if (!report.error) {
        std::cerr << "plugin " << report.name << ": " << tools::counted(problems.size(), "problem") << "\n";
    }
    return status;
}

}  // namespace

void add_check_plugin(tools::CommandLine& line) {
    auto* command = line.add("check-plugin", "Check that a trainer plugin keeps the contract of trainers");
    auto options = std::make_shared<CheckPluginOptions>();
    command->add_option("NAME", options->name, "the plugin's name, or its file libhpo_trainer_NAME.so")->required();
    command->add_option("--plugin-dir", options->plugin_dirs, "a folder with trainer plugins (repeatable; also HPO_PLUGIN_PATH)")
        ->allow_extra_args(false);
    command->add_option("--fix", options->fixed, "NAME=VALUE, a parameter or option of the tried runs (repeatable)")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false);
    command->add_option("--time-limit", options->time_limit, "how long the whole check may take")
        ->type_name("DURATION")
        ->capture_default_str();
    command->add_flag("--json", options->json, "as JSON");
    command->footer(
        "Looks at the description, the refusal of wrong parameters, and the data. Then at the loss and its gradients, the metrics,\n"
        "runs, stops and seeds. Last at attributes, profiles, predictions, saved models and checkpoints.\n"
        "It trains about a dozen times. Make that short with --fix, for example --fix train_examples=200. A LibTorch trainer is tried\n"
        "with 2 epochs.\n"
        "Exit 0: it keeps the contract; 1: each problem on a line; 2: a wrong --fix, or a parameter without a value; 6: it cannot be "
        "loaded.");
    line.on(command, [options] { return check_plugin(*options); });
}

}  // namespace hpo::tune
