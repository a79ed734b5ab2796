// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iostream>
#include <memory>
#include <thread>

#include "hpo/core/plan_text.hpp"
#include "hpo/failure/cause.hpp"
#include "hpo/trainer/levers.hpp"
#include "hpo/worker/supervisor/pool.hpp"
#include "support/json.hpp"
#include "tune/commands/commands.hpp"
#include "tune/device/chosen_device.hpp"
#include "tune/device/own_trainer.hpp"
#include "tune/display/text.hpp"

namespace hpo::tune {
namespace {

struct EvaluateOptions {
    std::string folder;
    std::vector<std::string> set;   ///< NAME=VALUE of the trainer
    std::vector<std::string> plan;  ///< KEY=VALUE of a lever
    std::string device = "auto";
    std::string device_memory;
    std::int64_t threads = 0;
    std::vector<std::string> plugin_dirs;
    std::string plugin_timeout = "60s";
    bool json = false;
};

/// What the measuring told.
class Listener final : public ExecutorEvents {
public:
    EventAnswer on(std::int64_t /*trial*/, AttemptEvent event) override {
        if (const auto* const mark = std::get_if<MemoryMark>(&event)) marks.push_back(*mark);
        if (auto* const ended = std::get_if<AttemptOutcome>(&event)) outcome = std::move(*ended);
        return {};
    }

    std::vector<MemoryMark> marks;
    std::optional<AttemptOutcome> outcome;
};

/// Whether a trainer's parameter says what its models are, by the names that trainers use for it.
bool shapes_model(const std::string& name) { return name == "model" || name.starts_with("model.") || name.starts_with("head."); }

/// The model's own parameters and options, with those of `--set` in their place.
void set_values(ModelManifest& model, const EvaluateOptions& options, const TrainerInfo& info) {
    std::vector<std::string> known;
    for (const TrainerParameter& parameter : info.parameters) known.push_back(parameter.name);
    for (const std::string& assignment : options.set) {
        auto [name, value] = parse_assignment("--set", assignment);
        if (std::find(known.begin(), known.end(), name) == known.end()) throw unknown_name("--set", "option of the trainer", name, known);
        if (shapes_model(name))
            throw Error{Errc::bad_value,
                        "--set " + name + ": the saved model has its own; expected where and how it is measured, such as data"};
        (model.params.contains(name) ? model.params : model.options)[name] = std::move(value);
    }
}

ExecutionPlan plan_of(const ModelManifest& model, const EvaluateOptions& options, const TrainerInfo& info) {
    ExecutionPlan plan = model.plan;
    for (const std::string& assignment : options.plan) set_lever(plan, "--plan", assignment);
    if (const auto missing = missing_lever(model.plan, plan, info.levers))
        throw Error{Errc::bad_value, "--plan: trainer " + info.name + ": " + *missing};
    plan.device = usable_device("--device", options.device, info);
    return plan;
}

/// Measures the model in a worker.
Listener measure(const ModelManifest& model, const std::filesystem::path& folder, const EvaluateOptions& options, const TrainerInfo& info) {
    const ExecutionPlan plan = plan_of(model, options, info);
    std::optional<std::int64_t> budget;
    if (!options.device_memory.empty()) budget = require_bytes("--device-memory", options.device_memory);
    const auto timeout = require_timeout("--plugin-timeout", options.plugin_timeout);
    const auto cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    worker::Pool pool{{.worker_program = worker_program(),
                       .trainer = info.name,
                       .plugin_folders = plugin_folders(options.plugin_dirs),
                       .options = model.options,
                       .metric = model.metric,
                       .threads = options.threads > 0 ? static_cast<int>(options.threads) : cores,
                       .device_budget_bytes = budget,
                       .device = plan.device,
                       .start_timeout = timeout}};
    Job job{.study = model.study, .trial = model.trial, .plan = plan, .seed = 0, .saved_model = folder.string()};
    for (const auto& [name, value] : model.params) job.params.set(name, CategoricalDistribution{{value}}, 0);
    Listener listener;
    pool.submit(job, listener);
    while (!listener.outcome) pool.wait(listener, 1);
    AttemptOutcome& outcome = *listener.outcome;
    if (outcome.failure) {
        OomContext context{.at_start = std::nullopt, .capacity = budget};
        explain_oom(*outcome.failure, context);
    }
    return listener;
}

/// Whether the data are those that the model was trained and measured on; nothing: nobody can say.
std::optional<bool> same_data(const ModelManifest& then, const ModelManifest& now) {
    if (then.data_hash.empty() || now.data_hash.empty()) return std::nullopt;
    return then.data_hash == now.data_hash;
}

void print_text(const ModelManifest& then, const ModelManifest& now, const Attributes& attributes) {
    std::vector<std::vector<std::string>> rows;
    for (const auto& [name, value] : now.metrics) {
        const auto before = then.metrics.find(name);
        rows.push_back({name, metric_value_text(name, value), before == then.metrics.end() ? "" : metric_value_text(name, before->second)});
    }
    for (const auto& [name, value] : attributes) {  // report_test's
        const tools::Json measured = tools::Json::parse(value, nullptr, false);
        if (name.starts_with("test_") && measured.is_number()) rows.push_back({name, metric_value_text(name, measured.get<double>()), ""});
    }
    std::cout << table({"metric", "now", "when it was trained"}, rows);
    if (const auto examples = attributes.find("validation_examples"); examples != attributes.end())
        std::cout << "measured on " << examples->second << " examples\n";
    const auto same = same_data(then, now);
    std::cout << "data: ";
    if (!same) std::cout << "trainer " << then.trainer << " does not say if this is the data that the model was trained and measured on\n";
    else if (*same) std::cout << "the same that the model was trained and measured on (" << now.data_hash << ")\n";
    else
        std::cout << "not the data that the model was trained and measured on: " << now.data_hash << "; the model's own is "
                  << then.data_hash << "\n";
}

tools::Json metrics_json(const ModelManifest& model) {
    tools::Json metrics = tools::Json::object();
    for (const auto& [name, value] : model.metrics) metrics[name] = tools::to_json(value);
    return metrics;
}

int evaluate(const EvaluateOptions& options) {
    const std::filesystem::path folder = absolute_folder(options.folder);
    const ModelManifest then = read_manifest(folder);
    require_whole(folder, then);
    const auto timeout = require_timeout("--plugin-timeout", options.plugin_timeout);
    const TrainerInfo info = *describe_one_trainer(then.trainer, options.plugin_dirs, timeout).plugins.front().info;
    require_saves_models(folder.string(), info);
    ModelManifest now = then;
    set_values(now, options, info);
    const Listener told = measure(now, folder, options, info);
    const AttemptOutcome& outcome = *told.outcome;
    const bool complete = outcome.kind == OutcomeKind::complete && outcome.values.size() == 1;
    now.metrics.clear();
    now.data_hash.clear();
    if (complete) {
        now.value = outcome.values[0];
        adopt_attributes(now, outcome.attributes, info.metrics);
    }
    const std::string problem = complete ? "" : outcome.failure ? outcome.failure->message : "the trainer ended without a value";
    if (options.json) {
        const auto same = same_data(then, now);
        tools::print({{"folder", folder.string()},
                      {"trainer", then.trainer},
                      {"study", then.study},
                      {"trial", then.trial},
                      {"ok", complete},
                      {"metric", then.metric},
                      {"value", complete ? tools::to_json(now.value) : tools::Json(nullptr)},
                      {"metrics", metrics_json(now)},
                      {"metrics_when_trained", metrics_json(then)},
                      {"data_hash", tools::text_or_null(now.data_hash)},
                      {"data_hash_when_trained", tools::text_or_null(then.data_hash)},
                      {"same_data", same ? tools::Json(*same) : tools::Json(nullptr)},
                      {"attributes", tools::to_json(outcome.attributes)},
                      {"failure", tools::text_or_null(problem)},
                      {"seconds", outcome.seconds},
                      {"peak_bytes", tools::or_null(outcome.peak_allocated)}});
    } else if (complete) {
        std::cout << folder.string() << ": trial " << then.trial << " of study " << then.study << ", trainer " << then.trainer << "\n";
        print_text(then, now, outcome.attributes);
    }
    if (complete) return 0;
    std::cerr << "hpo-tune: error: " << folder.string() << ": " << tools::one_line(problem, 2000) << "\n";
    return exit_code(Errc::check_failed);
}

}  // namespace

void add_evaluate(tools::CommandLine& line) {
    auto* command = line.add("evaluate", "Measure a saved model again, on its own data or on other data");
    auto options = std::make_shared<EvaluateOptions>();
    command->add_option("FOLDER", options->folder, "a saved model: hpo-tune run --save-best, hpo-tune try --save")->required();
    command->add_option("--set", options->set, "NAME=VALUE of the trainer, such as data=FILE (repeatable)");
    command->add_option("--plan", options->plan, "KEY=VALUE of a lever, such as micro_batch=8 (repeatable)");
    command->add_option("--device", options->device, "where it is measured")->type_name("auto|cpu|cuda|cuda:N")->capture_default_str();
    command->add_option("--device-memory", options->device_memory, "what may be held on the device")
        ->type_name("SIZE")
        ->check(not_empty("SIZE"));
    command->add_option("--threads", options->threads, "number of threads (default: one for each core)")->check(CLI::Range(1, 1024));
    command->add_option("--plugin-dir", options->plugin_dirs, "a folder with trainer plugins (repeatable; also HPO_PLUGIN_PATH)")
        ->allow_extra_args(false);
    command->add_option("--plugin-timeout", options->plugin_timeout, "how long a trainer plugin may take to load")
        ->type_name("DURATION")
        ->capture_default_str();
    command->add_flag("--json", options->json, "as JSON, on stdout");
    command->footer(
        "The model keeps the parameters and options of its training, except those that --set changes.\nExit 0: measured; 1: it could not "
        "be; 2: no saved model.");
    line.on(command, [options] { return evaluate(*options); });
}

}  // namespace hpo::tune
