// SPDX-License-Identifier: MIT
#include <iostream>

#include "hpo/recovery/ladder.hpp"
#include "hpo/registry/builtins.hpp"
#include "hpo/trainer/json.hpp"
#include "support/json.hpp"
#include "tune/commands/commands.hpp"
#include "tune/device/own_trainer.hpp"
#include "tune/display/text.hpp"

namespace hpo::tune {
namespace {

using tools::Json;

template <class Any>
Json entries_of(const registry::Registry<Any>& registry) {
    Json list = Json::array();
    for (const auto& entry : registry.entries()) {
        Json options = Json::array();
        for (const auto& option : entry.options) {
            options.push_back(
                {{"name", option.name}, {"default", option.default_text}, {"expected", option.expected}, {"help", option.help}});
        }
        list.push_back({{"name", entry.name}, {"summary", entry.summary}, {"options", options}});
    }
    return list;
}

Json trainers_of(const worker::WorkerDescription& description) {
    Json list = Json::array();
    for (const worker::PluginDescription& plugin : description.plugins) {
        Json item{{"name", plugin.name}, {"file", plugin.path}};
        if (plugin.info) item["info"] = encode(*plugin.info);
        else item["problem"] = plugin.error.value_or("it says nothing");
        list.push_back(item);
    }
    return list;
}

/// The rungs that `ladder` may be given.
Json rungs() {
    Json list = Json::array();
    for (const recovery::KnownRung& rung : recovery::known_rungs()) list.push_back({{"rung", rung.form}, {"summary", rung.summary}});
    return list;
}

void print_policies(const std::string& kind, const Json& list) {
    std::cout << kind << "\n";
    for (const Json& item : list) {
        std::cout << "  " << item["name"].get<std::string>() << "  " << item["summary"].get<std::string>() << "\n";
        for (const Json& option : item["options"]) {
            std::cout << "      " << option["name"].get<std::string>() << "=" << option["default"].get<std::string>() << "  "
                      << option["help"].get<std::string>() << " (" << option["expected"].get<std::string>() << ")\n";
        }
        if (!item.contains("rungs")) continue;
        for (const Json& rung : item["rungs"])
            std::cout << "      rung " << rung["rung"].get<std::string>() << "  " << rung["summary"].get<std::string>() << "\n";
    }
    std::cout << "\n";
}

void print_trainers(const worker::WorkerDescription& description) {
    std::cout << "trainer\n";
    if (description.plugins.empty()) std::cout << "  none in " << join_names(description.folders) << "\n";
    for (const worker::PluginDescription& plugin : description.plugins) {
        if (!plugin.info) {
            std::cout << "  " << plugin.name << "  cannot be used: " << plugin.error.value_or("it says nothing") << "\n";
            continue;
        }
        const TrainerInfo& info = *plugin.info;
        std::cout << "  " << info.name << "  " << info.summary << "\n";
        std::vector<std::vector<std::string>> rows;
        for (const TrainerParameter& parameter : info.parameters) {
            const bool required = parameter.standard.is_null();
            rows.push_back({"      " + parameter.name, required ? "required" : display_text(parameter.standard), parameter.type,
                            parameter.range, parameter.help});
        }
        if (!rows.empty()) std::cout << table({"      parameter", "default", "type", "range", ""}, rows);
        std::string metrics;
        for (const TrainerMetric& metric : info.metrics)
            metrics += (metrics.empty() ? "" : ", ") + metric.name + " (" + std::string{to_text(metric.direction)} + ")";
        if (info.open_ended) metrics = "any, in either direction\n      further parameters: any";
        const std::string levers = info.open_ended ? "micro_batch, with the option batch" : join_names(info.levers);
        std::cout << "      metrics: " << metrics << "\n      levers: " << levers << "\n";
        if (!info.effective_batch_parameter.empty()) std::cout << "      effective batch: " << info.effective_batch_parameter << "\n";
        std::cout << "      saves models: " << (info.saves_models ? "yes" : "no")
                  << "\n      goes on from checkpoints: " << (info.checkpoints ? "yes" : "no") << "\n";
    }
    std::cout << "\n";
}

}  // namespace

void add_policies(tools::CommandLine& line) {
    struct Options {
        std::string kind;
        std::vector<std::string> plugin_dirs;
        std::string plugin_timeout = "60s";
        bool as_json = false;
    };
    auto options = std::make_shared<Options>();
    auto* command = line.add("policies", "List samplers, pruners, guards, recovery policies and trainers with their options");
    command->add_option("KIND", options->kind, "sampler, pruner, guard, recovery or trainer (default: all)");
    command->add_option("--plugin-dir", options->plugin_dirs, "a folder with trainer plugins (repeatable)")->allow_extra_args(false);
    command->add_option("--plugin-timeout", options->plugin_timeout, "how long each trainer plugin may take to load")
        ->type_name("DURATION")
        ->capture_default_str();
    command->add_flag("--json", options->as_json, "as JSON");
    line.on(command, [options] {
        static const std::vector<std::string> kinds{"sampler", "pruner", "guard", "recovery", "trainer"};
        const std::string& kind = options->kind;
        if (!kind.empty() && std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
            throw unknown_name("policies", "kind", kind, kinds);
        const auto plugin_timeout = require_timeout("--plugin-timeout", options->plugin_timeout);
        const auto wanted = [&](const char* name) { return kind.empty() || kind == name; };
        const registry::Registries registries = registry::builtin_registries();
        Json all = Json::object();
        if (wanted("sampler")) all["sampler"] = entries_of(registries.samplers);
        if (wanted("pruner")) all["pruner"] = entries_of(registries.pruners);
        if (wanted("guard")) all["guard"] = entries_of(registries.guards);
        if (wanted("recovery")) {
            all["recovery"] = entries_of(registries.recoveries);
            for (Json& policy : all["recovery"])
                if (policy["name"] == recovery::Ladder<>::name) policy["rungs"] = rungs();
        }
        worker::WorkerDescription trainers;
        if (wanted("trainer")) {
            trainers = describe_trainers(options->plugin_dirs, plugin_timeout);
            all["trainer"] = trainers_of(trainers);
        }
        if (options->as_json) {
            tools::print(all);
            return 0;
        }
        for (const std::string& name : kinds) {
            if (!all.contains(name)) continue;
            if (name == "trainer") print_trainers(trainers);
            else print_policies(name, all[name]);
        }
        return 0;
    });
}

}  // namespace hpo::tune
