// SPDX-License-Identifier: MIT
#include "tune/device/own_trainer.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "hpo/base/error.hpp"
#include "hpo/core/device_word.hpp"
#include "hpo/store/location.hpp"
#include "hpo/trainer/levers.hpp"
#include "hpo/trainer/objectives.hpp"
#include "tune/card/virtual_card.hpp"
#include "tune/display/cards.hpp"

namespace hpo::tune {

std::filesystem::path worker_program() {
    const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "hpo-worker";
    if (!std::filesystem::exists(program))
        throw Error{Errc::plugin, program.string() + ": missing; expected the worker program beside hpo-tune"};
    return program;
}

std::vector<std::filesystem::path> plugin_folders(const std::vector<std::string>& given) {
    std::vector<std::filesystem::path> folders;
    for (const std::string& folder : given) {
        if (!std::filesystem::is_directory(folder)) throw Error{Errc::usage, "--plugin-dir " + folder + ": no such folder"};
        folders.push_back(std::filesystem::absolute(folder));
    }
    return folders;
}

worker::WorkerDescription describe_trainers(const std::vector<std::string>& given_folders, std::chrono::milliseconds plugin_timeout) {
    return worker::describe_plugins(
        {.worker_program = worker_program(), .plugin_folders = plugin_folders(given_folders), .plugin_timeout = plugin_timeout});
}

worker::WorkerDescription describe_one_trainer(const std::string& name, const std::vector<std::string>& given_folders,
                                               std::chrono::milliseconds plugin_timeout) {
    auto described = worker::describe_plugins({.worker_program = worker_program(),
                                               .plugin_folders = plugin_folders(given_folders),
                                               .trainer = name,
                                               .plugin_timeout = plugin_timeout});
    if (described.plugins.empty()) throw Error{Errc::plugin, "trainer " + name + ": the worker says nothing about it"};
    const worker::PluginDescription& plugin = described.plugins.front();
    if (plugin.error) throw Error{Errc::plugin, *plugin.error};
    return described;
}

namespace {

bool has_virtual_card() {
    try {
        return !virtual_card_folder().empty();
    } catch (const Error&) {
        return false;
    }
}

/// What a program takes is predicted for GPUs alone, on a virtual card.
void forget_impossible_predictions(TrainerInfo& info, const Settings& settings) {
    const auto may_be_card = [](const DeviceWord& word) { return !is_cpu(word.name) && (word.name != "auto" || !visible_cards().empty()); };
    if (info.open_ended && (std::ranges::none_of(settings.devices(), may_be_card) || !has_virtual_card())) info.peak_sources.clear();
}

/// A program's batch can be split if the script says which of the study's parameters it is.
void take_batch(TrainerInfo& info, const Settings& settings) {
    if (!info.open_ended) return;
    const auto& options = settings.description().trainer_options;
    const auto batch = options.find("batch");
    const auto* const name = batch == options.end() ? nullptr : std::get_if<std::string>(&batch->second);
    if (!name || name->empty()) return;
    info.effective_batch_parameter = *name;
    info.levers.emplace_back("micro_batch");
}

}  // namespace

worker::WorkerDescription describe_own_trainer(const Settings& settings) {
    worker::WorkerDescription described =
        describe_one_trainer(settings.description().trainer, settings.arguments().plugin_dirs, settings.plugin_timeout());
    take_batch(*described.plugins.front().info, settings);
    forget_impossible_predictions(*described.plugins.front().info, settings);
    return described;
}

TrainerInfo describe_trainer(Settings& settings) {
    TrainerInfo info = std::move(*describe_own_trainer(settings).plugins.front().info);
    settings.take_types(info);
    return info;
}

namespace {

/// Who minimises an accuracy finds the worst model.
void require_declared_direction(const TrainerInfo& info, const script::Objective& objective) {
    for (const TrainerMetric& metric : info.metrics) {
        if (metric.name != objective.metric || metric.direction == objective.direction) continue;
        throw bad_value(objective.place + ": direction of the metric '" + metric.name + "'",
                        "'" + std::string{to_text(objective.direction)} + "'",
                        "'" + std::string{to_text(metric.direction)} + "', as trainer " + info.name + " declares it");
    }
}

/// The error of a name that a trainer lacks. Its list may be cut, so it says what lists all.
Error with_list(const Error& error) {
    const std::string text = error.what();
    return {error.code(), text.ends_with(" more") ? text + ": hpo-tune policies trainer" : text};
}

}  // namespace

void require_known_to_trainer(const Settings& settings, const TrainerInfo& info) {
    std::vector<std::string> metrics;
    for (const TrainerMetric& metric : info.metrics) metrics.push_back(metric.name);
    const std::vector<std::string> names = settings.objectives();
    const std::vector<script::Objective>& objectives = settings.description().objectives;
    if (names.size() > 1 && !reported_metric(names).empty())
        metrics.insert(metrics.end(), measured_metrics.begin(), measured_metrics.end());
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (!info.open_ended && std::find(metrics.begin(), metrics.end(), names[i]) == metrics.end())
            throw unknown_name(objectives[i].place + ": trainer " + info.name, "metric", names[i], metrics);
        if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
            names.begin() + static_cast<std::ptrdiff_t>(i))
            throw bad_value(objectives[i].place + ": objectives", "metric '" + names[i] + "' twice", "each metric once");
        if (!info.open_ended) require_declared_direction(info, objectives[i]);
    }
    std::vector<std::string> parameters;
    for (const TrainerParameter& parameter : info.parameters) parameters.push_back(parameter.name);
    for (const auto& [name, value] : settings.description().trainer_options) {
        if (std::find(parameters.begin(), parameters.end(), name) == parameters.end()) {
            throw with_list(unknown_name(settings.arguments().script + ": trainer " + info.name, "option", name, parameters));
        }
    }
}

void require_plan(const Settings& settings, const TrainerInfo& info) {
    if (const auto missing = missing_lever(ExecutionPlan{}, settings.plan(), info.levers))
        throw Error{Errc::bad_value, settings.plan_place() + ": trainer " + info.name + ": " + *missing};
}

void require_saves_models(const std::string& place, const TrainerInfo& info) {
    if (!info.saves_models) throw Error{Errc::bad_value, place + ": trainer " + info.name + " saves no models"};
}

CheckpointConditions checkpoint_conditions(const Settings& settings, const TrainerInfo& info) {
    const script::StudyDescription& study = settings.description();
    const std::filesystem::path store = store::file_of(settings.text("store"));
    CheckpointConditions conditions{{"version", HPO_VERSION},
                                    {"trainer", info.name},
                                    {"LibTorch", info.libtorch_version},
                                    {"seed", settings.text("seed")},
                                    {"metric", settings.metric_text()}};
    for (const auto& [name, value] : study.trainer_options) {
        conditions["option " + name] = display_text(value);
        if (const auto* text = std::get_if<std::string>(&value)) add_files(conditions, *text, store);
    }
    for (const TrainerParameter& parameter : info.parameters) {
        const auto* text = std::get_if<std::string>(&parameter.standard);
        if (text && !study.trainer_options.contains(parameter.name)) add_files(conditions, *text, store);
    }
    return conditions;
}

ModelManifest model_of_study(const Settings& settings, const TrainerInfo& info) {
    const script::StudyDescription& study = settings.description();
    return {.version = HPO_VERSION,
            .trainer = info.name,
            .libtorch_version = info.libtorch_version,
            .study = settings.text("study"),
            .params = {},
            .options = {study.trainer_options.begin(), study.trainer_options.end()},
            .plan = {},
            .seed = static_cast<std::uint64_t>(settings.whole("seed", 0)),
            .metric = study.objectives[settings.reported_objective()].metric,
            .direction = study.objectives[settings.reported_objective()].direction};
}

}  // namespace hpo::tune
