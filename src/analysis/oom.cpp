// SPDX-License-Identifier: MIT
#include "hpo/analysis/oom.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/changes/smallest_change.hpp"
#include "analysis/memory_need/evenly_spaced.hpp"
#include "hpo/analysis/best.hpp"
#include "hpo/analysis/failure_cases/device_share.hpp"
#include "hpo/analysis/failure_cases/history_cause.hpp"
#include "hpo/analysis/regions/region_learner.hpp"
#include "hpo/analysis/rules/wait_record.hpp"

namespace hpo::analysis::detail {

/// The learned regions with counts that a reader can check: trials that were launched and ended, and those of them that ran out of memory
/// for any cause.
[[nodiscard]] std::vector<OomRegion> counted_regions(std::vector<LearnedRegion> learned, std::span<const Trial> trials,
                                                     const std::set<const Trial*>& out_of_memory, const std::set<const Trial*>& recovered,
                                                     const std::set<const Trial*>& not_run, std::span<const Trial* const> best = {}) {
    std::vector<OomRegion> regions;
    for (LearnedRegion& entry : learned) {
        OomRegion region{.region = std::move(entry.region)};
        for (const Trial& trial : trials) {
            if (!is_finished(trial.state) || is_interrupted(trial) || not_run.contains(&trial)) continue;
            if (!holds(region.region, trial.params)) continue;
            ++region.trials;
            if (out_of_memory.contains(&trial)) ++region.oom;
            if (recovered.contains(&trial)) ++region.recovered;
        }
        if (region.oom == 0) continue;  // all of its cases were interrupted later
        for (const Trial* trial : best) {
            if (holds(region.region, trial->params)) region.best.push_back(trial->number);
        }
        regions.push_back(std::move(region));
    }
    std::ranges::stable_sort(regions, std::greater{}, [](const OomRegion& region) { return std::pair{region.oom, region.rate()}; });
    return regions;
}

/// The capacity that a trial's last attempt had. Nullopt if it is not known.
[[nodiscard]] std::optional<std::int64_t> capacity_had(const Trial& trial) {
    return trial.attempts.empty() ? std::nullopt : trial.attempts.back().capacity_bytes;
}

/// The examples that say something about the device that the study has now. After a change of its size, a trial that ran out of less
/// memory, or fitted into more, says nothing.
[[nodiscard]] std::vector<Example> of_latest_device(std::span<const Example> examples, std::span<const Trial> trials) {
    std::optional<std::int64_t> latest;
    for (const Trial& trial : trials) {
        if (const auto had = capacity_had(trial)) latest = had;
    }
    std::map<const ParamSet*, std::int64_t> of_another;  // the capacity of other devices, by the parameters of their trials
    for (const Trial& trial : trials) {
        const auto had = capacity_had(trial);
        if (had && !ComparedTrials::same_device(*latest, *had)) of_another.emplace(&trial.params, *had);
    }
    std::vector<Example> telling{examples.begin(), examples.end()};
    std::erase_if(telling, [&](const Example& example) {
        const auto other = of_another.find(example.params);
        return other != of_another.end() && (example.positive ? other->second < *latest : other->second > *latest);
    });
    return telling;
}

/// The same examples, with every trial that ran out of memory for whatever cause as a positive. Its regions are shown, and no rule refuses
/// them: another process or a fresh one may be what helps there.
[[nodiscard]] std::vector<Example> any_cause(std::span<const Example> examples, std::span<const Trial> trials,
                                             const std::set<const Trial*>& out_of_memory) {
    std::vector<Example> all;
    for (const Example& each : examples) {
        if (!each.positive) all.push_back(each);
    }
    for (const Trial& trial : trials) {
        if (out_of_memory.contains(&trial)) all.push_back({.params = &trial.params, .positive = true, .peak_bytes = {}});
    }
    return evenly_spaced<Example>(all, 4000);
}

void prefer_measured_cures(std::vector<OomCase>& cases) {
    std::map<OomCause, std::map<std::string, std::size_t>> cures;
    std::set<OomCause> by_number;
    const auto cause_of = [](const OomCase& entry) { return entry.failed.failure.cause.value_or(OomCause::unknown); };
    for (const OomCase& entry : cases) {
        if (!entry.change || entry.change->basis != Change::Basis::attempt || cause_of(entry) == OomCause::unknown) continue;
        if (!entry.change->param.empty()) by_number.insert(cause_of(entry));
        else if (!entry.change->share) ++cures[cause_of(entry)][entry.change->what];
    }
    for (OomCase& entry : cases) {
        const auto known = cures.find(cause_of(entry));
        if (!entry.change || entry.change->basis == Change::Basis::attempt || entry.change->param.empty()) continue;
        if (known == cures.end() || by_number.contains(known->first)) continue;
        const auto most = std::ranges::max_element(known->second, {}, [](const auto& cure) { return cure.second; });
        entry.change = Change{.basis = Change::Basis::cure, .what = most->first, .bytes = {}, .witness = {}};
    }
}

/// False if hpo has run the trials and knew no batch of any of them.
[[nodiscard]] bool may_know_batch(std::span<const Trial> trials) {
    bool is_ours = false;
    for (const Trial& trial : trials) {
        for (const Attempt& attempt : trial.attempts) {
            if (attempt.plan.effective_micro_batch()) return true;
            is_ours = true;
        }
    }
    return !is_ours;
}

}  // namespace hpo::analysis::detail

namespace hpo::analysis {

OomReport oom_report(std::span<const Trial> trials, std::span<const Rejection> rejections, const StudyContext& context,
                     const ToldFailures& log) {
    std::vector<FailureCase> cases = failure_cases(trials, log);
    explain_by_history(cases, trials);
    SilentReport silent = silent_report(cases, trials, context);
    OomReport report{failure_totals(trials, cases, silent), {}, {}, {}, {}, std::move(silent), {}};

    std::set<const Trial*> out_of_memory;
    std::set<const Trial*> recovered;
    std::set<const Trial*> not_run;
    std::set<const Trial*> failed;
    std::set<OomCause> causes;  // causes that a rule could answer
    for (const FailureCase& entry : cases) {
        failed.insert(entry.trial);
        if (entry.is_oom()) {
            out_of_memory.insert(entry.trial);
            if (entry.recovered) recovered.insert(entry.trial);
            if (!got_larger_share(entry)) causes.insert(entry.failure.cause.value_or(OomCause::unknown));
        } else if (entry.failure.kind == FailureKind::predicted_oom || entry.victim) {
            not_run.insert(entry.trial);
        }
    }
    std::vector<const Trial*> fitted;
    for (const Trial& trial : trials) {
        if (ran_well(trial) && (!failed.contains(&trial) || recovered.contains(&trial))) fitted.push_back(&trial);
    }

    const std::vector<Example> examples = memory_examples(trials, cases);
    // Where some failed although larger ones ran, others may have failed by chance, too.
    const bool some_by_chance = std::ranges::any_of(cases, [](const FailureCase& entry) { return !entry.size_decides; });
    const double by_chance = some_by_chance ? 0.02 : 0.5;
    const std::vector<Example> telling = detail::of_latest_device(examples, trials);
    std::vector<LearnedRegion> learned = learn_regions(telling, {}, by_chance);
    std::vector<const Trial*> best;
    std::vector<const ParamSet*> kept;
    if (!learned.empty()) {
        best = trials_to_keep(trials, context.directions, complete_out_of_memory(cases));
        std::erase_if(best, [&](const Trial* trial) { return out_of_memory.contains(trial) && !recovered.contains(trial); });
        for (const Trial* trial : best) kept.push_back(&trial->params);
    }
    const auto counted = [&](std::vector<LearnedRegion> regions) {
        return detail::counted_regions(std::move(regions), trials, out_of_memory, recovered, not_run, best);
    };
    report.regions = counted(std::move(learned));
    std::vector<OomRegion> refused = report.regions;
    if (std::ranges::any_of(refused, [](const OomRegion& region) { return region.recovered == 0 && !region.best.empty(); })) {
        // The rule names the regions that it does not refuse. It refuses narrower ones, without the best trials.
        std::erase_if(refused, [](const OomRegion& region) { return region.recovered == 0 && region.best.empty(); });
        std::ranges::copy_if(counted(learn_regions(telling, kept, by_chance)), std::back_inserter(refused),
                             [](const OomRegion& region) { return region.recovered == 0; });
    }
    if (report.regions.empty())
        report.regions =
            counted(learn_regions(detail::of_latest_device(detail::any_cause(examples, trials, out_of_memory), trials), {}, by_chance));
    const MemoryModel model{examples};
    MemoryOrder order{trials, model};
    const ComparedTrials compared{fitted, cases, order};
    const WaitRecord waits = wait_record(trials);
    report.cases.reserve(report.oom_attempts);
    for (FailureCase& entry : cases) {  // each is moved; `compared` keeps no pointer to it
        if (!entry.is_oom()) {
            report.other_failures.push_back(std::move(entry));
            continue;
        }
        auto change = smallest_change(entry, compared, model);
        const bool advises_wait = change && change->basis == Change::Basis::figures && entry.failure.cause == OomCause::neighbour;
        if (advises_wait && !waits.may_help()) change.reset();
        report.cases.push_back({.failed = std::move(entry), .change = std::move(change)});
    }
    detail::prefer_measured_cures(report.cases);
    report.prediction = prediction_quality(trials, rejections);
    if (const auto prevented = report.others.find("prevented"); prevented != report.others.end())
        report.prediction.refused_before_launch += prevented->second.count;
    report.rule_lua = lua_rule(refused, causes, detail::may_know_batch(trials), waits);
    report.rule_python = python_rule(refused, causes);
    return report;
}

}  // namespace hpo::analysis
