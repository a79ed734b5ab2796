// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "hpo/analysis/demand_model.hpp"
#include "hpo/analysis/failure_case.hpp"

namespace hpo::analysis {

/// True for a trial that ran as it was meant to: complete with a finite value, or pruned, and without a failure.
[[nodiscard]] inline bool ran_well(const Trial& trial) {
    if (trial.state == TrialState::complete) return trial.values.empty() || std::isfinite(trial.values.front());
    return trial.state == TrialState::pruned;
}

/// True for causes that follow from the configuration: the others could have hit any trial.
[[nodiscard]] constexpr bool follows_from_configuration(OomCause cause) {
    return cause == OomCause::capacity || cause == OomCause::limit || cause == OomCause::workspace || cause == OomCause::unknown;
}

/// What the learners see: trials that ran out of memory because of their configuration, against those that ran at once.
[[nodiscard]] inline std::vector<Example> memory_examples(std::span<const Trial> trials, std::span<const FailureCase> cases) {
    std::map<const Trial*, bool> failed;  // to: ran out of memory by its configuration
    for (const FailureCase& entry : cases) {
        auto& slot = failed[entry.trial];
        if (entry.is_oom() && follows_from_configuration(entry.failure.cause.value_or(OomCause::unknown))) slot = true;
    }
    std::vector<Example> examples;
    for (const Trial& trial : trials) {
        const auto found = failed.find(&trial);
        if (found == failed.end() ? ran_well(trial) : found->second) {
            Example example{.params = &trial.params, .positive = found != failed.end(), .peak_bytes = {}};
            if (const auto peak = peak_of(trial)) {
                const auto start = detail::start_of(trial, trial.attempts.empty() ? nullptr : &trial.attempts.back());
                example.peak_bytes = static_cast<double>(*peak - (start ? start->allocated.value_or(0) : 0));
            }
            examples.push_back(example);
        }
    }
    return examples;
}

namespace detail {

[[nodiscard]] inline bool same_apart_from_seeds(const ParamSet& a, const ParamSet& b) {
    if (a.size() != b.size() || a.empty()) return false;
    return std::ranges::all_of(a, [&](const Param& param) { return is_seed(param.name) || b.value(param.name) == param.value(); });
}

/// A sticky error in a process that had met one before is not this trial's fault. Where the process is not known, a trial that began within
/// a minute after the other's end and died within 30 seconds of the same words is taken for its victim.
inline void find_victims(std::span<FailureCase> cases) {
    std::vector<FailureCase*> sticky;
    for (FailureCase& entry : cases) {
        if (entry.failure.kind == FailureKind::cuda_sticky && entry.trial->started) sticky.push_back(&entry);
    }
    std::ranges::stable_sort(sticky, [](const FailureCase* a, const FailureCase* b) { return *a->trial->started < *b->trial->started; });
    for (std::size_t i = 0; i < sticky.size(); ++i) {
        for (std::size_t j = i; j-- > 0 && !sticky[i]->victim;) {
            const FailureCase& earlier = *sticky[j];
            const bool known = !sticky[i]->process.empty() && !earlier.process.empty();
            const bool close = earlier.trial->completed &&
                               *sticky[i]->trial->started - *earlier.trial->completed < std::chrono::minutes{1} &&
                               *sticky[i]->trial->started >= *earlier.trial->completed && sticky[i]->seconds.value_or(1e9) < 30 &&
                               sticky[i]->failure.message == earlier.failure.message;
            if (known ? sticky[i]->process == earlier.process && earlier.trial != sticky[i]->trial : close) {
                sticky[i]->victim = true;
                sticky[i]->victim_of = earlier.victim ? earlier.victim_of : std::optional{earlier.trial->number};
            }
        }
    }
}

/// The process itself filled the device, and yet the same parameters ran to their end elsewhere: what filled it was left by earlier trials.
inline void find_leaks(std::span<FailureCase> cases, std::span<const Trial> trials) {
    for (FailureCase& entry : cases) {
        if (entry.attempt || entry.at_start || !entry.is_oom() || entry.failure.cause != OomCause::capacity) continue;
        if (!entry.failure.memory.allocated) continue;
        const auto& memory = entry.failure.memory;
        if (entry.failure.requested_bytes && memory.capacity && *entry.failure.requested_bytes > *memory.capacity) continue;
        for (const Trial& other : trials) {
            if (&other == entry.trial || !ran_well(other) || other.state != TrialState::complete ||
                !same_apart_from_seeds(other.params, entry.trial->params))
                continue;
            entry.failure.cause = OomCause::leak;
            entry.failure.evidence = "trial " + std::to_string(other.number) + " ran to its end with the same parameters; here " +
                                     format_bytes(*memory.allocated) + " were in use, left behind by earlier trials" +
                                     (entry.process.empty() ? "" : " of process " + entry.process);
            break;
        }
    }
}

/// A failure that is known to be an out-of-memory and gave no figures: the same demand, or less, exhausted the device in another trial; or
/// the peaks of the others say that it needs more than the device has.
inline void find_silent_capacity(std::span<FailureCase> cases, std::span<const Trial> trials) {
    const auto silent = [](const FailureCase& entry) {
        return entry.is_oom() && entry.failure.cause == OomCause::unknown && entry.failure.message.empty();
    };
    if (std::ranges::none_of(cases, silent)) return;
    const DemandModel model{memory_examples(trials, cases)};
    std::optional<std::int64_t> capacity;
    for (const FailureCase& other : cases) {
        if (const auto size = other.failure.memory.capacity; size && (!capacity || *size > *capacity)) capacity = size;
    }
    for (FailureCase& entry : cases) {
        if (!silent(entry)) continue;
        const auto witness = std::ranges::find_if(cases, [&](const FailureCase& other) {
            return other.is_oom() && other.failure.cause == OomCause::capacity && other.trial != entry.trial &&
                   at_least_as_demanding(model.axes(), entry.params(), other.params());
        });
        const auto need = model.bytes(entry.params(), 0);
        if (witness != cases.end()) {
            entry.failure.cause = OomCause::capacity;
            entry.failure.evidence =
                "no message was kept; trial " + std::to_string(witness->trial->number) + ", which needs no more, exhausted the device";
        } else if (need && capacity && *need > static_cast<double>(*capacity)) {
            entry.failure.cause = OomCause::capacity;
            entry.failure.evidence = "no message was kept; by the peaks of the other trials it needs about " +
                                     format_bytes(static_cast<std::int64_t>(*need)) + " of " + format_bytes(*capacity);
        }
    }
}

}  // namespace detail

/// Adds what only other trials can tell: who is a victim, what was a leak, what must have been capacity.
inline void explain_by_history(std::span<FailureCase> cases, std::span<const Trial> trials) {
    detail::find_victims(cases);
    detail::find_leaks(cases, trials);
    detail::find_silent_capacity(cases, trials);
}

}  // namespace hpo::analysis
