// SPDX-License-Identifier: MIT
#include "hpo/analysis/memory_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <range/v3/view/zip.hpp>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/analysis/failure_cases/history_cause.hpp"
#include "hpo/analysis/oom.hpp"
#include "hpo/core/memory_leak.hpp"
#include "hpo/failure/cause.hpp"
#include "hpo/guard/learned/learned_peaks.hpp"

namespace hpo::analysis {

std::vector<CalibrationRow> calibration_table(std::span<const PredictedUse> uses) {
    std::vector<CalibrationRow> rows;
    std::vector<std::vector<double>> ratios;
    for (const PredictedUse& use : uses) {
        const Estimate& estimate = *use.attempt->estimate;
        auto found = std::ranges::find_if(rows, [&](const CalibrationRow& row) {
            return row.source == estimate.source && std::fabs(row.claimed - estimate.confidence) < 1e-9;
        });
        if (found == rows.end()) {
            found = rows.insert(
                found, CalibrationRow{.source = estimate.source, .claimed = estimate.confidence, .low = {}, .median = {}, .high = {}});
            ratios.emplace_back();
        }
        ++found->attempts;
        found->ran_out += use.ran_out ? 1 : 0;
        found->underestimated += use.too_low() ? 1 : 0;
        if (!use.ran_out) ratios[static_cast<std::size_t>(found - rows.begin())].push_back(use.ratio());
    }
    const auto quantile = [](const std::vector<double>& sorted, double p) {
        return sorted[static_cast<std::size_t>(p * static_cast<double>(sorted.size() - 1) + 0.5)];
    };
    for (auto&& [row, known] : ranges::views::zip(rows, ratios)) {
        if (known.empty()) continue;
        std::ranges::sort(known);
        row.low = quantile(known, 0.05);
        row.median = quantile(known, 0.5);
        row.high = quantile(known, 0.95);
    }
    std::ranges::stable_sort(rows, std::greater{}, &CalibrationRow::attempts);
    return rows;
}

}  // namespace hpo::analysis

namespace hpo::analysis::detail {

/// The most frequent capacity of the attempts. If several are equally frequent, the largest.
[[nodiscard]] std::optional<std::int64_t> attempted_capacity(std::span<const Trial> trials) {
    std::vector<std::int64_t> capacities;
    for (const Trial& trial : trials) {
        for (const Attempt& attempt : trial.attempts) {
            if (attempt.capacity_bytes) capacities.push_back(*attempt.capacity_bytes);
        }
    }
    return most_frequent(std::move(capacities));
}

/// The most frequent capacity of each device, by its word. Empty if all have the same.
[[nodiscard]] std::map<std::string, std::int64_t> device_capacities(std::span<const Trial> trials) {
    std::map<std::string, std::vector<std::int64_t>> all;
    for (const Trial& trial : trials) {
        for (const Attempt& attempt : trial.attempts) {
            if (attempt.capacity_bytes) all[attempt.plan.device].push_back(*attempt.capacity_bytes);
        }
    }
    std::map<std::string, std::int64_t> capacities;
    std::set<std::int64_t> different;
    for (auto& [device, found] : all) {
        capacities[device] = most_frequent(std::move(found)).value_or(0);
        different.insert(capacities[device]);
    }
    return different.size() > 1 ? capacities : std::map<std::string, std::int64_t>{};
}

/// The capacities that attempts had, without this one, the largest first.
[[nodiscard]] std::vector<std::int64_t> capacities_but(std::optional<std::int64_t> usual, std::span<const Trial> trials) {
    std::set<std::int64_t, std::greater<>> others;
    for (const Trial& trial : trials) {
        for (const Attempt& attempt : trial.attempts) {
            if (attempt.capacity_bytes && attempt.capacity_bytes != usual) others.insert(*attempt.capacity_bytes);
        }
    }
    return {others.begin(), others.end()};
}

/// The laws of devices on which the guard learned peaks from the study's own trials, or would have.
[[nodiscard]] std::map<std::string, guard::NamedLaw> learned_laws(std::span<const Trial> trials) {
    std::map<std::string, guard::NamedLaw> laws;
    for (const Trial& trial : trials) {
        for (const Attempt& attempt : trial.attempts) {
            const bool is_learned =
                attempt.estimate && (attempt.estimate->source == guard::learned_source || attempt.estimate->source == guard::alone_source);
            if (is_learned && !attempt.device_name.empty()) laws.try_emplace(attempt.device_name);
        }
    }
    guard::LearnedPeaks learned;
    for (auto& [device, law] : laws) law = learned.law({.study = {}, .directions = {}, .trials = trials, .rejections = {}}, device);
    return laws;
}

}  // namespace hpo::analysis::detail

namespace hpo::analysis {

const Attempt* attempt_of(const TrialUse& use) {
    const auto& attempts = use.trial->attempts;
    if (attempts.empty()) return nullptr;
    const auto used_so_much = [&](const Attempt& each) { return peak_of(each) == use.bytes || guard::least_need(each) == use.bytes; };
    const auto found = std::ranges::find_if(attempts, used_so_much);
    return found == attempts.end() ? &attempts.back() : &*found;
}

MemoryReport memory_report(std::span<const Trial> trials, std::span<const Rejection> rejections, const MemoryLimit& limit) {
    MemoryReport report;
    report.refused_before_launch = rejections.size();
    std::vector<FailureCase> cases = failure_cases(trials);
    explain_by_history(cases, trials);
    report.counts = count(trials, cases);
    report.capacity_bytes = detail::attempted_capacity(trials);
    if (!report.capacity_bytes) report.capacity_bytes = detail::usual_capacity(trials, cases);
    report.capacities = detail::device_capacities(trials);
    if (report.capacities.empty()) report.other_capacities = detail::capacities_but(report.capacity_bytes, trials);
    report.limit_bytes = limit.bytes;
    if (limit.share && report.capacity_bytes)
        report.limit_bytes = static_cast<std::int64_t>(*limit.share * static_cast<double>(*report.capacity_bytes));

    std::set<std::string> devices;
    for (const Trial& trial : trials) {
        for (const Attempt& attempt : trial.attempts) {
            if (!attempt.device_name.empty()) devices.insert(attempt.device_name);
            if (attempt.estimate && attempt.estimate->need) ++report.predicted_attempts;
            if (const auto bytes = leaked_bytes(attempt)) report.leaks.push_back({&trial, attempt.index, *bytes});
        }
    }
    std::ranges::stable_sort(report.leaks, std::greater{}, &LeakUse::bytes);
    report.devices.assign(devices.begin(), devices.end());
    report.laws = detail::learned_laws(trials);
    report.uses = predicted_uses(trials);
    report.calibration = calibration_table(report.uses);

    std::map<const Trial*, std::int64_t> needed_more;  // trials that ran out of memory by themselves, with the least that they needed
    std::set<const Trial*> out_of_memory;              // whoever took the memory
    std::set<const Trial*> recovered;
    for (const FailureCase& entry : cases) {
        if (entry.silent()) ++report.silent_failures;
        if (!entry.is_oom()) continue;
        out_of_memory.insert(entry.trial);
        if (entry.recovered) recovered.insert(entry.trial);
        if (!follows_from_configuration(entry.failure.cause.value_or(OomCause::unknown))) continue;
        std::int64_t& least = needed_more[entry.trial];
        if (entry.attempt) least = std::max(least, guard::least_need(*entry.attempt).value_or(0));
        else least = std::max(least, entry.failure.memory.capacity.value_or(0));
    }
    const auto too_much = [&](std::int64_t bytes, bool needs_more) {
        if (!report.limit_bytes) return needs_more;
        if (!needs_more) return bytes > *report.limit_bytes;
        return bytes >= *report.limit_bytes || !report.capacity_bytes || *report.capacity_bytes >= *report.limit_bytes;
    };
    std::vector<TrialUse> all;
    std::vector<std::pair<std::int64_t, Example>> known;  // by bytes
    for (const Trial& trial : trials) {
        const auto peak = peak_of(trial);
        const auto more = needed_more.find(&trial);
        const bool ran_out = out_of_memory.contains(&trial);
        const bool came_back = recovered.contains(&trial);
        TrialUse use{.trial = &trial,
                     .bytes = peak.value_or(0),
                     .ran_out = ran_out && !came_back,
                     .needs_more = more != needed_more.end() && !came_back,
                     .recovered = came_back};
        const bool measured = use.bytes > 0;
        if (measured) {
            ++report.measured_trials;
            report.top.push_back(use);
            TrialUse fitting = use;  // for a recovered trial, the use of the attempt that ran
            if (came_back && !trial.attempts.empty()) fitting.bytes = peak_of(trial.attempts.back()).value_or(0);
            const auto uses_more = [&](const TrialUse& than) {
                const auto here = report.share_of(fitting);
                const auto there = report.share_of(than);
                return here && there ? *here > *there : fitting.bytes > than.bytes;
            };
            if (!use.ran_out && fitting.bytes > 0 && (!report.highest || uses_more(*report.highest))) report.highest = fitting;
        }
        const std::int64_t least = std::max(use.bytes, more == needed_more.end() ? 0 : more->second);
        if (use.needs_more) use.bytes = least;
        if (use.needs_more || measured) all.push_back(use);

        const bool short_once = more != needed_more.end();  // at least as it was first launched
        if (!short_once && ran_out && !report.limit_bytes) {
            ++report.neither_safe_nor_not;
        } else if (short_once || (measured && ran_well(trial))) {
            known.push_back({least, {.params = &trial.params, .positive = too_much(least, short_once), .peak_bytes = {}}});
        }
    }
    std::ranges::stable_sort(report.top, std::greater{}, &TrialUse::bytes);
    std::ranges::stable_sort(all, std::greater{}, &TrialUse::bytes);
    for (const TrialUse& use : all) {
        const auto share = limit.share ? report.share_of(use) : std::nullopt;  // of the device that the trial had
        const bool above = share ? *share > *limit.share || (use.needs_more && (*limit.share <= 1 || *share == *limit.share))
                                 : report.limit_bytes && too_much(use.bytes, use.needs_more);
        if (above) report.above_limit.push_back(use);
    }
    std::ranges::stable_sort(known, std::greater{}, [](const auto& entry) { return entry.first; });
    std::vector<Example> examples;
    for (auto& [bytes, example] : known) examples.push_back(example);
    constexpr std::size_t most_examples = 2000;
    const std::size_t every = rejections.size() / most_examples + 1;
    for (std::size_t i = 0; i < rejections.size(); i += every) {  // what was refused shows nothing safe; of many a share
        const auto& estimate = rejections[i].estimate;
        if (!report.limit_bytes || (estimate && estimate->need.value_or(0) > *report.limit_bytes))
            examples.push_back({.params = &rejections[i].params, .positive = true, .peak_bytes = {}});
    }
    if (examples.size() > most_examples) {  // evenly spaced over the uses; all positives are kept
        std::vector<Example> spaced;
        const std::size_t step = examples.size() / most_examples + 1;
        for (std::size_t i = 0; i < examples.size(); ++i) {
            if (examples[i].positive || i % step == 0) spaced.push_back(examples[i]);
        }
        examples = std::move(spaced);
    }
    report.safe = safe_region(examples);
    return report;
}

}  // namespace hpo::analysis
