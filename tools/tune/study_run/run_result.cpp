// SPDX-License-Identifier: MIT
#include "tune/study_run/run_result.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "hpo/analysis/best.hpp"
#include "hpo/analysis/changed_params.hpp"
#include "hpo/analysis/study_counts.hpp"
#include "hpo/failure/failure_line.hpp"
#include "hpo/failure/rule_failure.hpp"
#include "hpo/failure/traits.hpp"
#include "support/counts_text.hpp"
#include "support/json.hpp"
#include "support/seeds_text.hpp"
#include "support/text.hpp"
#include "tune/display/text.hpp"
#include "tune/settings/printed_command.hpp"

namespace hpo::tune {
namespace {

using tools::Json;

/// The trials that no other one beats in every objective, in order of number.
void print_front(const TuneResult& result, const Settings& settings) {
    const auto front = analysis::best_trials(result.trials, result.study.directions);
    if (front.empty()) {
        std::cout << "Pareto front: no trial yet\n";
        return;
    }
    std::vector<std::string> head{"  trial"};
    for (std::size_t i = 0; i < result.study.directions.size(); ++i)
        head.push_back(std::string{to_text(result.study.directions[i])} + " " + settings.objectives()[i]);
    std::vector<std::vector<std::string>> rows;
    for (const Trial* trial : front) {
        rows.push_back({"  " + std::to_string(trial->number)});
        const std::vector<double> values = analysis::with_mean(result.trials, *trial).values;
        for (std::size_t i = 0; i < values.size(); ++i) rows.back().push_back(metric_value_text(settings.objectives()[i], values[i]));
    }
    std::cout << "Pareto front: " << tools::counted(front.size(), "trial") << " (parameters: hpo-analyze best --store "
              << shell_quoted(settings.text("store")) << " --study " << shell_quoted(result.study.name) << ")\n"
              << table(head, rows);
}

/// The tool that has something to say of this study, with what it is for.
std::string explaining_tool(const TuneResult& result, const analysis::StudyCounts& counts) {
    std::size_t otherwise = 0;  // attempts that failed, but not of memory
    for (const Trial& trial : result.trials) {
        for (const Attempt& attempt : trial.attempts) otherwise += attempt.failure && !is_memory(attempt.failure->kind) ? 1 : 0;
        otherwise += trial.attempts.empty() && trial.state == TrialState::fail && !is_marked_lost(trial) ? 1 : 0;
    }
    const bool has_rule_error = std::ranges::any_of(result.trials, [](const Trial& trial) { return rule_failure(trial).has_value(); });
    if (!has_rule_error && counts.oom_attempts > 0 && counts.oom_attempts >= otherwise) return "explain: hpo-analyze oom";
    if (otherwise > 0 || has_rule_error) return "explain: hpo-analyze failures";
    return "look closer: hpo-analyze summary";
}

/// "loss 0.31 in trial 4", of several seeds "loss 0.31 ± 0.02, the mean of 3 seeds (trials 4, 7, 8)" with the mean's standard error.
std::string best_value_text(const TuneResult& result, const Trial& best, const std::string& metric) {
    Configurations configurations;
    (void)configurations.of(result.trials);
    const SeedTrials* const seeds = configurations.seeds_of_trial(best.number);
    if (!seeds) return metric + " " + metric_value_text(metric, best.values[0]) + " in trial " + std::to_string(best.number);
    const auto error = seeds->standard_error(0);
    return metric + " " + metric_value_text(metric, seeds->mean(0)) + (error ? " ± " + tools::two_digits(*error) : "") + ", the mean of " +
           tools::counted(seeds->values().size(), "seed") + " " + tools::trials_text(*seeds);
}

bool is_done(const TuneResult& result, const analysis::StudyCounts& counts, std::int64_t wanted) {
    return !result.interrupted && static_cast<std::int64_t>(counts.ended()) >= wanted;
}

/// The command that goes on with the study; if it is done, with twice as many trials.
std::string next_command(const TuneResult& result, const analysis::StudyCounts& counts, const Settings& settings, std::int64_t wanted) {
    if (!is_done(result, counts, wanted)) return run_command(settings);
    return run_command(settings, {{"trials", std::to_string(2 * counts.ended())}});
}

bool has_infinite_value(const Trial& trial) {
    return trial.state == TrialState::complete && trial.feasible() &&
           std::ranges::any_of(trial.values, [](double value) { return std::isinf(value); });
}

void print_text(const TuneResult& result, const Settings& settings, std::int64_t wanted, bool names_next) {
    const analysis::StudyCounts counts = analysis::count(result.trials);
    std::cout << "study " << tools::on_one_line(result.study.name) << ": " << tools::states_text(counts) << "; " << tools::oom_text(counts)
              << "\n";
    if (result.study.directions.size() > 1) {
        print_front(result, settings);
    } else if (const Trial* best = result.best()) {
        const std::string& metric = settings.description().objectives[0].metric;
        std::cout << "best: " << best_value_text(result, *best, metric) << "\n";
        std::vector<std::vector<std::string>> rows;
        for (const Param& param : best->params) rows.push_back({"  " + param.name, display_text(param.value())});
        std::cout << table({"  parameter", "value"}, rows);
        if (const Attempt* ran = analysis::last_attempt(*best)) {
            if (const std::string changed = analysis::changes_text(*best, *ran); !changed.empty())
                std::cout << "  ran with " << tools::on_one_line(changed) << "\n";
            const ExecutionPlan& plan = ran->plan;
            if (const auto micro = plan.effective_micro_batch(); micro && plan.effective_batch)
                std::cout << "  run as " << plan.accumulation_steps() << " x micro-batch " << *micro << "\n";
        }
    } else {
        const bool lacks_seeds = std::ranges::any_of(result.trials, [](const Trial& trial) { return seeds_of(trial) > 1; });
        std::cout << "best: none yet" << (lacks_seeds ? ", because no configuration has all of its seeds" : "") << "\n";
    }
    if (const auto infinite = std::ranges::count_if(result.trials, has_infinite_value))
        std::cout << "left out: " << tools::counted(static_cast<std::size_t>(infinite), "trial")
                  << " with an infinite value; Optuna's study.best_trial counts such trials\n";
    std::cout << explaining_tool(result, counts) << " --store " << shell_quoted(settings.text("store")) << " --study "
              << shell_quoted(result.study.name) << "\n";
    if (names_next) std::cout << next_line(result, settings, wanted);
}

void print_model(const KeptModel& kept, const TuneResult& result, const Settings& settings) {
    const std::string folder = shell_quoted(kept.folder.string());
    if (const auto& model = kept.manifest) {
        std::cout << "model: " << folder << " (trial " << model->trial << ", " << model->metric << " "
                  << metric_value_text(model->metric, model->value)
                  << "); measure it again: " << evaluate_command(kept.folder.string(), settings.arguments().plugin_dirs) << "\n";
    }
    const Trial* best = result.best();
    if (!best || kept.is_of(best)) return;
    std::cout << "the model of the best trial was not kept; train it again: hpo-tune try " << shell_quoted(settings.arguments().script);
    for (const char* word : {"store", "study", "seed"}) {
        const Settings::Setting& setting = settings.all().at(word);
        if (setting.origin == "command line") std::cout << " --" << word << " " << shell_quoted(setting.text);
    }
    for (const std::string& assignment : settings.arguments().set) std::cout << " --set " << shell_quoted(assignment);
    std::cout << plugin_dir_words(settings.arguments().plugin_dirs) << " --trial " << best->number << " --save FOLDER\n";
}

/// The parameters that gave the trial's value where a rule changed them; else null.
Json changed_params_json(const Trial& trial) {
    const Attempt* last = analysis::last_attempt(trial);
    return last && last->changed_params ? tools::to_json(*last->changed_params) : Json(nullptr);
}

Json best_json(const Trial& best) {
    return {{"trial", best.number},
            {"value", tools::to_json(best.values[0])},
            {"params", tools::to_json(best.params)},
            {"changed_params", changed_params_json(best)}};
}

/// A trial of the Pareto front.
Json front_json(const Trial& trial) {
    Json values = Json::array();
    for (const double value : trial.values) values.push_back(tools::to_json(value));
    return {{"trial", trial.number},
            {"values", std::move(values)},
            {"params", tools::to_json(trial.params)},
            {"changed_params", changed_params_json(trial)}};
}

Json model_json(const std::optional<KeptModel>& kept) {
    if (!kept || !kept->manifest) return nullptr;
    return {{"folder", kept->folder.string()}, {"trial", kept->manifest->trial}};
}

Json trip_json(const std::optional<BreakerTrip>& trip) {
    if (!trip) return nullptr;
    return {{"failures", trip->failures},
            {"of", trip->of},
            {"signature", trip->signature},
            {"kind", std::string{to_text(trip->latest.kind)}},
            {"blame", std::string{to_text(traits_of(trip->latest).blame)}},
            {"device", trip->device},
            {"latest_trial", trip->trial}};
}

void print_json(const TuneResult& result, const Settings& settings, std::int64_t wanted, const std::optional<KeptModel>& kept) {
    const analysis::StudyCounts counts = analysis::count(result.trials);
    const Trial* best = result.best();
    Json json{{"study", result.study.name},
              {"store", settings.text("store")},
              {"interrupted", result.interrupted},
              {"breaker", trip_json(result.broken)},
              {"exhausted", result.exhausted ? Json(*result.exhausted) : Json(nullptr)},
              {"all_tried", result.all_tried},
              {"next_command", result.exhausted || result.all_tried ? Json(nullptr) : Json(next_command(result, counts, settings, wanted))},
              {"complete", counts.complete},
              {"pruned", counts.pruned},
              {"infeasible", counts.infeasible},
              {"failed", counts.failed},
              {"interrupted_trials", counts.interrupted},
              {"oom_attempts", counts.oom_attempts},
              {"oom_trials", counts.oom_trials},
              {"recovered_trials", counts.recovered_trials},
              {"recovered_otherwise", counts.recovered_otherwise},
              {"best", best ? best_json(analysis::with_mean(result.trials, *best)) : Json(nullptr)}};
    if (result.study.directions.size() > 1) {
        Json& front = json["front"] = Json::array();
        for (const Trial* trial : analysis::best_trials(result.trials, result.study.directions))
            front.push_back(front_json(analysis::with_mean(result.trials, *trial)));
    }
    json["model"] = model_json(kept);
    tools::print(json);
}

}  // namespace

std::string trip_text(const BreakerTrip& trip) {
    const bool row = trip.failures == trip.of;
    return "the run was ended, because " + std::to_string(trip.failures) +
           (trip.of == 1 ? " trial failed: "
            : row        ? " trials in a row failed in the same way: "
                         : " of the latest " + std::to_string(trip.of) + " trials failed in the same way: ") +
           std::string{to_text(trip.latest.kind)} + (trip.latest.where.empty() ? "" : " in " + trip.latest.where) +
           (trip.device.empty() ? "" : " on " + trip.device) + ": " + failure_line(trip.latest) + " (trial " + std::to_string(trip.trial) +
           (trip.tried.empty() || trip.tried == to_text(trip.latest.kind) ? "" : "; recovery: " + trip.tried) +
           "); --breaker 0 goes on whatever fails";
}

std::string exhausted_text(const std::string& latest) {
    return "no configuration is left to try: all that were proposed in a row had failed before; of the last one, " + latest +
           "; --breaker 0 tries them again";
}

std::string next_line(const TuneResult& result, const Settings& settings, std::int64_t wanted) {
    if (result.all_tried) return "every configuration was tried: no other is proposed\n";
    if (result.exhausted) return {};
    const analysis::StudyCounts counts = analysis::count(result.trials);
    return (is_done(result, counts, wanted) ? "more trials: " : "go on: ") + next_command(result, counts, settings, wanted) + "\n";
}

void print_result(const TuneResult& result, const Settings& settings, std::int64_t wanted, const std::optional<KeptModel>& kept,
                  const ResultStyle& style) {
    if (style.json) return print_json(result, settings, wanted, kept);
    print_text(result, settings, wanted, style.names_next);
    if (kept) print_model(*kept, result, settings);
}

int exit_status(const TuneResult& result, const std::optional<KeptModel>& kept, const RuleErrors& rule_errors) {
    if (result.interrupted) return exit_code(Errc::interrupted);
    if (result.broken || result.exhausted) {
        const std::string why = result.broken ? trip_text(*result.broken) : exhausted_text(*result.exhausted);
        std::cerr << "hpo-tune: error: study " << tools::on_one_line(result.study.name) << ": " << tools::on_one_line(why) << "\n";
        return exit_code(Errc::breaker);
    }
    if (rule_errors.trials > 0) {
        std::cerr << "hpo-tune: error: " << tools::on_one_line(rule_errors.latest) << "; so failed a rule of the script in "
                  << tools::counted(rule_errors.trials, "trial") << " of this run, and ended " << (rule_errors.trials == 1 ? "it" : "them")
                  << "\n";
        return exit_code(Errc::script);
    }
    if (kept && !kept->problem.empty() && result.best() && !kept->is_of(result.best())) {
        std::cerr << "hpo-tune: error: the model of the best trial is not kept: " << tools::on_one_line(kept->problem) << "\n";
        return exit_code(Errc::store);
    }
    const analysis::StudyCounts counts = analysis::count(result.trials);
    const auto has_value = [](const Trial& trial) {
        const auto is_finite = [](double value) { return std::isfinite(value); };
        return trial.state == TrialState::complete && std::ranges::any_of(trial.values, is_finite);
    };
    if (std::ranges::any_of(result.trials, [&](const Trial& trial) { return has_value(trial) && trial.feasible(); })) return 0;
    const bool is_infeasible_alone = std::ranges::any_of(result.trials, has_value);
    const std::size_t all = counts.ended();
    std::cerr << "hpo-tune: error: study " << tools::on_one_line(result.study.name) << ": "
              << (all == 0               ? "no trial has ended"
                  : counts.failed == all ? (all == 1 ? "its trial failed" : "each of its " + std::to_string(all) + " trials failed")
                  : is_infeasible_alone
                      ? (all == 1 ? "its trial is not feasible" : "none of its " + std::to_string(all) + " trials is feasible")
                  : all == 1 ? "its trial has no value that could be used"
                             : "none of its " + std::to_string(all) + " trials has a value that could be used")
              << "\n";
    return exit_code(Errc::check_failed);
}

}  // namespace hpo::tune
