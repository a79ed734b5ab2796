// SPDX-License-Identifier: MIT
#include "hpo/analysis/failure_cases/history_cause.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/failure_cases/larger_trials.hpp"
#include "analysis/failure_cases/shared_processes.hpp"
#include "analysis/memory_need/evenly_spaced.hpp"
#include "analysis/memory_need/memory_model.hpp"
#include "analysis/memory_need/memory_order.hpp"
#include "hpo/analysis/failure_cases/attribute_value.hpp"
#include "hpo/failure/cause.hpp"
#include "hpo/failure/classify.hpp"

namespace hpo::analysis {

std::vector<Example> memory_examples(std::span<const Trial> trials, std::span<const FailureCase> cases) {
    std::map<const Trial*, bool> failed;  // value: ran out of memory because of its configuration
    for (const FailureCase& entry : cases) {
        auto& slot = failed[entry.trial];
        if (entry.is_oom() && follows_from_configuration(entry.failure.cause.value_or(OomCause::unknown))) slot = true;
    }
    const bool host_peaks = detail::peaks_are_of_the_host(cases);
    std::vector<Example> examples;
    for (const Trial& trial : trials) {
        const auto found = failed.find(&trial);
        if (found == failed.end() ? ran_well(trial) : found->second) {
            Example example{.params = &trial.params, .positive = found != failed.end(), .peak_bytes = {}};
            const Attempt* attempt = trial.attempts.empty() ? nullptr : &trial.attempts.back();
            const bool in_pieces = attempt && attempt->plan.effective_micro_batch() != attempt->plan.effective_batch;
            if (const auto peak = attempt ? peak_of(*attempt) : peak_of(trial); peak && !in_pieces && !host_peaks) {
                const auto start = detail::start_of(trial, attempt);
                example.peak_bytes = static_cast<double>(*peak - (start ? start->allocated.value_or(0) : 0));
            }
            examples.push_back(example);
        }
    }
    return evenly_spaced<Example>(examples, 4000);
}

}  // namespace hpo::analysis

namespace hpo::analysis::detail {

/// Marks victims: a sticky error is not the trial's fault if its process had met one before. If the process is not known, time decides. The
/// trial then began within a minute after the other's end, and died within 30 seconds with the same message.
void find_victims(std::span<FailureCase> cases) {
    std::vector<FailureCase*> sticky;
    for (FailureCase& entry : cases) {
        if (entry.failure.kind == FailureKind::cuda_sticky && entry.trial->started) sticky.push_back(&entry);
    }
    std::ranges::stable_sort(sticky, [](const FailureCase* a, const FailureCase* b) { return *a->trial->started < *b->trial->started; });
    std::map<std::string, const FailureCase*> last_of_process;
    for (FailureCase* entry : sticky) {
        const FailureCase*& last = last_of_process[entry->process];
        bool victim = last && last->trial != entry->trial;
        if (victim && entry->process.empty()) {
            const auto& before = *last->trial;
            victim = before.completed && *entry->trial->started >= *before.completed &&
                     seconds_between(*before.completed, *entry->trial->started) < 60 && entry->seconds.value_or(HUGE_VAL) < 30 &&
                     entry->failure.message == last->failure.message;
        }
        if (victim) {
            entry->victim = true;
            entry->victim_of = last->victim ? last->victim_of : std::optional{last->trial->number};
        }
        last = entry;
    }
}

/// The first trial of each process, and of all under an empty name. Only a later one may find memory that another left.
[[nodiscard]] std::map<std::string, const Trial*> first_trials(std::span<const Trial> trials) {
    const auto earlier = [](const Trial& a, const Trial& b) {
        return a.started && b.started ? *a.started < *b.started : a.number < b.number;
    };
    std::map<std::string, const Trial*> first;
    for (const Trial& trial : trials) {
        for (const std::string& process : {std::string{}, foreign_process(trial)}) {
            const auto [known, is_new] = first.emplace(process, &trial);
            if (!is_new && earlier(trial, *known->second)) known->second = &trial;
        }
    }
    return first;
}

/// True if the figures say that the process itself filled the device, and nothing says yet whether memory from before was part of it.
[[nodiscard]] bool filled_the_device(const FailureCase& entry) {
    const auto& memory = entry.failure.memory;
    const bool one_huge_request = entry.failure.requested_bytes && memory.capacity && *entry.failure.requested_bytes > *memory.capacity;
    return !entry.at_start && entry.is_oom() && entry.failure.cause == OomCause::capacity && memory.allocated && !one_huge_request;
}

/// True if a message tells of an out-of-memory, and neither it nor another source says why.
[[nodiscard]] bool has_no_figures(const FailureCase& entry) {
    return !entry.at_start && entry.is_oom() && entry.failure.cause == OomCause::unknown && !entry.failure.message.empty();
}

/// The most memory in use, for each process, of which a trial that ran there afterwards shows that it was the failed trial's own.
[[nodiscard]] std::map<std::string, std::int64_t> own_bytes(std::span<const FailureCase> cases, const SharedProcesses& processes,
                                                            LargerTrials& larger) {
    std::map<std::string, std::int64_t> own;
    for (const FailureCase& entry : cases) {
        const auto process = processes.of(*entry.trial, entry.attempt);
        if (!process || !filled_the_device(entry)) continue;
        const bool ran_afterwards = larger.any_of(entry, [&](const Trial& other) {
            return processes.of(other, last_attempt(other)) == process && other.started > entry.trial->started;
        });
        if (ran_afterwards) own[*process] = std::max(own[*process], *entry.failure.memory.allocated);
    }
    return own;
}

/// Marks leaks: the process itself filled the device, but a trial that needs at least as much ran to its end. So the memory was left by
/// earlier trials. Nothing was left behind if the process began with this attempt, or if a trial as large ran at once afterwards in the
/// same process. For another attempt of hpo's, what held the memory is not known. Without figures the cause stays unknown.
void find_leaks(std::span<FailureCase> cases, std::span<const Trial> trials) {
    const auto is_in_question = [](const FailureCase& entry) { return filled_the_device(entry) || has_no_figures(entry); };
    if (std::ranges::none_of(cases, is_in_question)) return;
    LargerTrials larger{trials, cases};
    const std::map<std::string, const Trial*> first = first_trials(trials);
    const SharedProcesses processes{trials};
    const std::map<std::string, std::int64_t> own = own_bytes(cases, processes, larger);
    const auto was_its_own = [&](const FailureCase& entry) {
        if (entry.attempt && processes.began(*entry.attempt)) return true;
        const auto process = processes.of(*entry.trial, entry.attempt);
        const auto most = process ? own.find(*process) : own.end();
        return most != own.end() && *entry.failure.memory.allocated <= most->second;
    };
    std::size_t leaks = 0;
    std::size_t refuted = 0;  // of which it is not the size that decides: leaks and others
    std::vector<FailureCase*> others;
    for (FailureCase& entry : cases) {
        if (!is_in_question(entry)) continue;
        const bool is_first = !entry.attempt && first.at(foreign_process(*entry.trial)) == entry.trial;
        const auto witness = is_first ? std::nullopt : larger.witness(entry);
        if (!witness) {
            others.push_back(&entry);
            continue;
        }
        ++refuted;
        if (has_no_figures(entry)) {
            entry.larger_ran = witness->trial->number;
            entry.size_decides = false;
            entry.failure.evidence += "; " + witness->text();
            continue;
        }
        if (entry.attempt || was_its_own(entry)) {
            entry.larger_ran = witness->trial->number;
            entry.size_decides = false;
        }
        if (was_its_own(entry)) {
            entry.failure.evidence += "; " + witness->text() + ", so no parameter decides";
        } else if (entry.attempt) {
            entry.failure.cause = OomCause::unknown;
            entry.failure.evidence += "; " + witness->text() + ", so what else held memory here is not known";
        } else {
            ++leaks;
            entry.failure.cause = OomCause::leak;
            entry.failure.evidence = witness->text() + "; here " + format_bytes(*entry.failure.memory.allocated) +
                                     " were in use, left behind by earlier trials" +
                                     (entry.process.empty() ? "" : " of process " + entry.process);
        }
    }
    if (refuted <= 3 * others.size()) return;
    for (FailureCase* entry : others) {
        entry->size_decides = false;
        if (leaks > 3 * others.size()) {
            entry->failure.cause = OomCause::unknown;
            entry->failure.evidence = "most of the study's out-of-memories (" + std::to_string(leaks) +
                                      ") were leaks, so how much this trial needs by itself is not known; no trial as large ran to its end";
        } else {
            entry->failure.evidence += "; for most of the study's out-of-memories (" + std::to_string(refuted) +
                                       ") a trial as large ran to its end, so what decides is not known";
        }
    }
}

/// Finds the cause of out-of-memories without figures. It is capacity if another trial with the same demand, or less, exhausted the device.
/// It is also capacity if the peaks of the other trials predict more than the device has, with two standard deviations to spare.
void find_silent_capacity(std::span<FailureCase> cases, std::span<const Trial> trials) {
    const auto silent = [](const FailureCase& entry) {
        return entry.is_oom() && entry.failure.cause == OomCause::unknown && entry.failure.message.empty();
    };
    if (std::ranges::none_of(cases, silent)) return;
    const MemoryModel model{memory_examples(trials, cases)};
    MemoryOrder order{trials, model};
    const auto point_of = [&](const FailureCase& entry) {
        return order.point_of(entry.params(), entry.attempt ? &entry.attempt->plan : nullptr);
    };
    struct TooLarge {
        const Trial* trial;
        MemoryOrder::Point point;
    };
    std::vector<TooLarge> too_large;  // the first 1,000, so that many silent failures do not take too long
    for (const FailureCase& entry : cases) {
        if (too_large.size() < 1000 && entry.is_oom() && entry.failure.cause == OomCause::capacity && entry.size_decides)
            too_large.push_back({.trial = entry.trial, .point = point_of(entry)});
    }
    std::optional<std::int64_t> capacity;
    for (const FailureCase& other : cases) {
        if (const auto size = other.failure.memory.capacity; size && (!capacity || *size > *capacity)) capacity = size;
    }
    for (FailureCase& entry : cases) {
        if (!silent(entry)) continue;
        const auto point = point_of(entry);
        const auto witness = std::ranges::find_if(
            too_large, [&](const TooLarge& other) { return other.trial != entry.trial && order.at_least_as_measured(point, other.point); });
        const auto need = model.bytes(entry.params(), 0);
        const auto least = model.bytes(entry.params(), -2);
        if (!order.axes().empty() && witness != too_large.end()) {
            entry.failure.cause = OomCause::capacity;
            entry.failure.evidence =
                "no message was kept; trial " + std::to_string(witness->trial->number) + ", which needs no more, exhausted the device";
        } else if (least && capacity && *least > static_cast<double>(*capacity)) {
            entry.failure.cause = OomCause::capacity;
            entry.failure.evidence = "no message was kept; by the peaks of the other trials it needs about " +
                                     format_bytes(static_cast<std::int64_t>(*need)) + " of " + format_bytes(*capacity);
        }
    }
}

}  // namespace hpo::analysis::detail

namespace hpo::analysis {

void explain_by_history(std::span<FailureCase> cases, std::span<const Trial> trials) {
    detail::find_victims(cases);
    detail::find_leaks(cases, trials);
    detail::find_silent_capacity(cases, trials);
}

}  // namespace hpo::analysis
