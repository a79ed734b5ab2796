// SPDX-License-Identifier: MIT
#include "hpo/analysis/best.hpp"
#include "hpo/analysis/study_counts.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"

#include <memory>

#include "analyze/commands/commands.hpp"
#include "analyze/shown/brief_json.hpp"
#include "analyze/shown/log.hpp"
#include "analyze/shown/objectives.hpp"
#include "hpo/analysis/changed_params.hpp"
#include "hpo/analysis/failure_cases/failure_case.hpp"
#include "support/json.hpp"
#include "support/options.hpp"
#include "support/seeds_text.hpp"
#include "support/text.hpp"

namespace hpo::analyze {

using namespace hpo::tools;

namespace {

struct BestOptions {
    std::size_t top = 1;
};

/// The attempt that gave the trial's value; null for a trial that another program ran.
Json ran_json(const hpo::Trial& trial) {
    const hpo::Attempt* last = hpo::analysis::last_attempt(trial);
    if (!last) return nullptr;
    return {{"attempt", last->index},
            {"params", to_json(hpo::params_of(trial, *last))},
            {"plan", to_json(last->plan)},
            {"peak_bytes", or_null(hpo::analysis::peak_of(*last))}};
}

/// The trials of a configuration that differ in their seed alone; null for one that has a single trial.
Json seeds_json(const hpo::SeedTrials* seeds) {
    if (!seeds) return nullptr;
    Json means = Json::array(), errors = Json::array();
    for (std::size_t i = 0; i < seeds->values().front().size(); ++i) {
        means.push_back(to_json(seeds->mean(i)));
        errors.push_back(or_null(seeds->standard_error(i)));
    }
    return {{"trials", seeds->numbers()}, {"complete", seeds->values().size()}, {"means", means}, {"standard_errors", errors}};
}

/// "loss 0.31 ± 0.02, the mean of 3 seeds (trials 4, 7, 8)"
std::string seeds_text(const hpo::SeedTrials& seeds, const Objectives& objectives) {
    std::string text;
    for (std::size_t i = 0; i < objectives.size(); ++i) {
        const auto error = seeds.standard_error(i);
        text += (i > 0 ? ", " : "") + (objectives.names().empty() ? "" : objectives.names()[i] + " ") +
                objectives.value_text(i, seeds.mean(i)) + (error ? " ± " + two_digits(*error) : "");
    }
    text += ", the mean of " + counted(seeds.values().size(), "seed") + " " + trials_text(seeds);
    if (seeds.failed() > 0) text += "; " + counted(seeds.failed(), "seed") + " did not complete";
    return text;
}

/// "3, ± 0.02 (trials 4, 7, 8)", with the standard error of the mean of each objective
std::string spread_text(const hpo::SeedTrials& seeds, std::size_t objectives) {
    std::string text = std::to_string(seeds.values().size());
    for (std::size_t i = 0; i < objectives; ++i) {
        if (const auto error = seeds.standard_error(i)) text += ", ± " + two_digits(*error);
    }
    return text + " " + trials_text(seeds);
}

/// The best configuration and the next one with other parameters, in a study whose configurations have several seeds.
struct SeedOrder {
    const hpo::SeedTrials* best = nullptr;  ///< null: it has one trial
    const hpo::Trial* next = nullptr;
    const hpo::SeedTrials* of_next = nullptr;
    std::optional<double> p_value;  ///< nullopt: how sure the order is is not known
};
std::optional<SeedOrder> order_of_best(const StudyData& data, const hpo::Configurations& configurations) {
    const bool has_seeds = std::ranges::any_of(data.trials, [](const hpo::Trial& trial) { return hpo::seeds_of(trial) > 1; });
    if (data.study.directions.size() != 1 || !has_seeds) return std::nullopt;
    const auto ranked = hpo::analysis::best_trials(data.trials, data.study.directions, data.trials.size());
    const auto is_other = [&](const hpo::Trial* trial) { return trial->params != ranked.front()->params; };
    const auto next = std::ranges::find_if(ranked, is_other);
    if (next == ranked.end()) return std::nullopt;
    SeedOrder order{configurations.seeds_of_trial(ranked.front()->number), *next, configurations.seeds_of_trial((*next)->number), {}};
    if (order.best && order.of_next) order.p_value = hpo::analysis::welch_p_value(*order.best, *order.of_next);
    return order;
}

std::string order_text(const SeedOrder& order) {
    constexpr double level = 0.05;
    if (order.p_value) {
        return std::string{*order.p_value < level ? "Their order is sure" : "Their order is not sure"} +
               " at the level 0.05, because p = " + two_digits(*order.p_value) + " (Welch's t-test, two-sided).";
    }
    if (!order.best || !order.of_next) return "Whether this order is sure is not known, because one of them has a single trial.";
    if (order.best->failed() + order.of_next->failed() > 0)
        return "Whether this order is sure is not known, because not all of their trials are complete.";
    return "Whether this order is sure is not known, because the trials of a configuration have the same value. Perhaps the trainer does "
           "not "
           "use "
           "the seed that it gets.";
}

void print_order(const Page& page, const SeedOrder& order, const Objectives& objectives) {
    page.paragraph("The next is trial " + std::to_string(order.next->number) + ": " +
                   (order.of_next ? seeds_text(*order.of_next, objectives) : objectives.values_text(*order.next)) + ". " +
                   order_text(order));
}

/// What is best without the trials that ran out of memory by their own message.
void print_others(const Page& page, const std::vector<const hpo::Trial*>& others, const Objectives& objectives, bool any_doubtful) {
    if (!any_doubtful) return;
    std::string text = "Without the trials whose own message says that they ran out of memory, ";
    if (others.empty()) {
        text += "none is left";
    } else if (objectives.size() == 1) {
        const std::string params = params_text(*others.front());
        text += "the best is trial " + std::to_string(others.front()->number) + ": " + objectives.values_text(*others.front()) +
                (params.empty() ? "" : " with " + params);
    } else {
        std::vector<std::string> numbers;
        for (const hpo::Trial* trial : others) numbers.push_back(std::to_string(trial->number));
        text += "the Pareto front is trial" + std::string{numbers.size() == 1 ? " " : "s "} + hpo::join_names(numbers);
    }
    page.paragraph(text + ".");
}

void best(const Query& query, const BestOptions& options) {
    const StudyData data = read_study(query);
    const auto log = read_logs(query.logs, data.trials);
    const auto doubtful = hpo::analysis::complete_out_of_memory(hpo::analysis::failure_cases(data.trials, log.told));
    const auto winners = hpo::analysis::best_trials(data.trials, data.study.directions, options.top);
    const auto is_doubtful = [&](const hpo::Trial* trial) { return doubtful.contains(trial); };
    const bool any_doubtful = std::ranges::any_of(winners, is_doubtful);
    const auto others = any_doubtful ? hpo::analysis::best_trials(data.trials, data.study.directions, options.top, doubtful)
                                     : std::vector<const hpo::Trial*>{};
    const Objectives objectives{data.study};
    hpo::Configurations configurations;
    (void)configurations.of(data.trials);
    const auto order = order_of_best(data, configurations);
    if (query.json) {
        Json list = Json::array();
        for (const hpo::Trial* trial : winners) {
            list.push_back(brief_json(hpo::analysis::with_mean(data.trials, *trial)));
            list.back()["ran"] = ran_json(*trial);
            list.back()["ran_out_of_memory"] = is_doubtful(trial);
            list.back()["seeds"] = seeds_json(configurations.seeds_of_trial(trial->number));
        }
        Json without = Json::array();
        for (const hpo::Trial* trial : others) without.push_back(brief_json(*trial));
        print({{"study", data.study.name},
               {"metrics", objectives.json()},
               {"best", std::move(list)},
               {"order", order ? Json{{"next", order->next->number}, {"p_value", or_null(order->p_value)}} : Json(nullptr)},
               {"best_without_out_of_memory", any_doubtful ? std::move(without) : Json(nullptr)},
               {"log", log_json(query.logs, log)}});
        return;
    }
    const Page page = Page::standard_output();
    if (winners.empty()) {
        const bool all_infinite = hpo::analysis::has_only_infinite_values(data.trials);
        const bool lacks_seeds = std::ranges::any_of(data.trials, [](const hpo::Trial& trial) { return hpo::seeds_of(trial) > 1; });
        page.line((all_infinite  ? "no complete trial has a finite value in study "
                   : lacks_seeds ? "no configuration has all of its seeds yet in study "
                                 : "no complete and feasible trial in study ") +
                  data.study.name + " (" + counted(data.trials.size(), "trial") + ")");
        return;
    }
    if (winners.size() > 1) {
        if (data.study.directions.size() > 1)
            page.heading(counted(winners.size(), "trial") + " on the Pareto front of study " + data.study.name);
        std::vector<Table::Column> columns{{"trial", Table::Align::right}};
        for (Table::Column& column : objectives.columns()) columns.push_back(std::move(column));
        if (any_doubtful) columns.push_back({"ran out of memory"});
        const bool any_seeds =
            std::ranges::any_of(winners, [&](const hpo::Trial* trial) { return configurations.seeds_of_trial(trial->number); });
        if (any_seeds) columns.push_back({"seeds"});
        columns.push_back({"parameters"});
        Table table{std::move(columns)};
        for (const hpo::Trial* trial : winners) {
            std::vector<std::string> row{std::to_string(trial->number)};
            const auto* const seeds = configurations.seeds_of_trial(trial->number);
            for (std::string& cell : objectives.cells(hpo::analysis::with_mean(data.trials, *trial))) row.push_back(std::move(cell));
            if (any_doubtful) row.emplace_back(is_doubtful(trial) ? "yes" : "");
            if (any_seeds) row.push_back(seeds ? spread_text(*seeds, objectives.size()) : "");
            row.push_back(params_text(*trial));
            table.row(std::move(row));
        }
        table.print(page);
        if (order) print_order(page, *order, objectives);
        print_others(page, others, objectives, any_doubtful);
        return;
    }
    const hpo::Trial& winner = *winners.front();
    const auto* const seeds = configurations.seeds_of_trial(winner.number);
    page.heading("Trial " + std::to_string(winner.number) + " of study " + data.study.name + ": " +
                 (seeds ? seeds_text(*seeds, objectives) : objectives.values_text(winner)) +
                 (data.study.directions.size() > 1 ? ", alone on the Pareto front" : "") +
                 (any_doubtful ? std::string{" ("} + doubtful_value_text + ")" : ""));
    Table table{{{""}, {""}}};
    for (const hpo::Param& param : winner.params) table.row({param.name, hpo::display_text(param.value())});
    const hpo::Attempt* ran = hpo::analysis::last_attempt(winner);
    if (const auto peak = ran ? hpo::analysis::peak_of(*ran) : hpo::analysis::peak_of(winner))
        table.row({"(peak memory)", hpo::format_bytes(*peak)});
    if (ran) {
        if (const std::string changed = hpo::analysis::changes_text(winner, *ran); !changed.empty()) table.row({"(ran with)", changed});
        if (const auto micro = ran->plan.effective_micro_batch())
            table.row({"(ran with)", "micro-batch " + std::to_string(*micro) + ", accumulated over " +
                                         counted(static_cast<std::size_t>(ran->plan.accumulation_steps()), "step")});
    }
    table.print(page, 2);
    if (order) print_order(page, *order, objectives);
    print_others(page, others, objectives, any_doubtful);
}

}  // namespace

void add_best(tools::CommandLine& line, Query& query) {
    auto* command = line.add("best", "the best feasible trial, or the Pareto front of several objectives");
    auto options = std::make_shared<BestOptions>();
    command->add_option("--top", options->top, "the best N")->check(tools::at_least(1))->capture_default_str();
    add_log_option(command, query);
    line.on(command, [&query, options] {
        best(query, *options);
        return 0;
    });
}

}  // namespace hpo::analyze
