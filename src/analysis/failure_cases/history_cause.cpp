// SPDX-License-Identifier: MIT
#include "hpo/analysis/failure_cases/history_cause.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/memory_need/evenly_spaced.hpp"
#include "analysis/memory_need/memory_axis.hpp"
#include "analysis/memory_need/memory_model.hpp"
#include "analysis/memory_need/memory_order.hpp"
#include "analysis/memory_need/param_names.hpp"
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

/// A text that is the same for equal parameters in any order. Seeds do not count.
[[nodiscard]] std::string configuration_key(const ParamSet& params) {
    std::vector<std::string> parts;
    for (const Param& param : params) {
        if (!is_seed(param.name)) parts.push_back(json_quote(param.name) + json_text(param.value()));
    }
    std::ranges::sort(parts);
    std::string key;
    for (const std::string& part : parts) key += part + ",";
    return key;
}

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

/// True for shares of the work that is left out: the larger, the less memory is needed. Paths and blocks that are dropped are masked, which
/// saves nothing.
[[nodiscard]] bool skips_work(std::string_view name) {
    const std::string lower = hpo::detail::lower_case(name);
    if (hpo::detail::mentions_any(lower, {"path", "stochastic_depth", "block"})) return false;
    return hpo::detail::mentions_any(lower, {"drop"}) &&
           hpo::detail::mentions_any(lower, {"layer", "token", "patch", "sample", "edge", "node"});
}

/// Which worker or host ran a trial, as far as its attributes say. Processes of one host share its devices.
[[nodiscard]] std::string machine_of(const Trial& trial) {
    std::string who;
    for (const std::string_view name : {"hostname", "host", "worker", "worker_id", "device", "gpu", "gpu_id"}) {
        const std::string_view json = attribute_json(trial.user_attributes, name);
        who += std::string{json.substr(0, json.find(':'))} + ";";  // behind a colon stands the process
    }
    return who;
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

/// For each trial, the process that it surely shares with others, from its first trial on. An attempt knows its process. A study of
/// another program whose trials follow each other at once runs them in one process, because a process that is started anew loads its
/// libraries first.
class SharedProcesses {
public:
    explicit SharedProcesses(std::span<const Trial> trials) {
        constexpr std::int64_t longest_pause_us = 500'000;
        std::vector<const Trial*> in_order;
        for (const Trial& trial : trials) {
            for (const Attempt& attempt : trial.attempts) {
                const auto started = attempt.started ? attempt.started : trial.started;
                if (attempt.worker_pid <= 0 || !started) continue;
                First& first = first_.try_emplace(name(attempt), First{&attempt, *started}).first->second;
                if (*started < first.started) first = {&attempt, *started};
            }
            if (trial.attempts.empty() && trial.started && trial.completed) in_order.push_back(&trial);
        }
        std::ranges::stable_sort(in_order, {}, [](const Trial* trial) { return *trial->started; });
        std::size_t run = 0;
        const Trial* previous = nullptr;
        for (const Trial* trial : in_order) {
            const std::int64_t pause =
                previous ? microseconds_since_epoch(*trial->started) - microseconds_since_epoch(*previous->completed) : -1;
            if (pause < 0 || pause > longest_pause_us) ++run;
            run_of_[trial] = std::to_string(run);
            previous = trial;
        }
    }
    /// Nullopt if it is not known.
    [[nodiscard]] std::optional<std::string> of(const Trial& trial, const Attempt* attempt) const {
        if (attempt) return attempt->worker_pid > 0 ? std::optional{name(*attempt)} : std::nullopt;
        const auto run = run_of_.find(&trial);
        return run == run_of_.end() ? std::nullopt : std::optional{run->second};
    }
    /// True if no other attempt ran in its process before, so none can have left memory there.
    [[nodiscard]] bool began(const Attempt& attempt) const {
        const auto first = attempt.worker_pid > 0 ? first_.find(name(attempt)) : first_.end();
        return first != first_.end() && first->second.attempt == &attempt;
    }

private:
    struct First {
        const Attempt* attempt;
        Time started;
    };
    [[nodiscard]] static std::string name(const Attempt& attempt) {
        return attempt.device_name + " process " + std::to_string(attempt.worker_pid);
    }

    std::map<const Trial*, std::string> run_of_;
    std::map<std::string, First> first_;
};

/// True if the last attempt of a trial ran, and had no more of the same device than another attempt.
[[nodiscard]] bool had_as_little(const Trial& trial, const Attempt& other) {
    if (trial.attempts.empty()) return false;
    const Attempt& ran = trial.attempts.back();
    if (ran.failure || ran.device_name != other.device_name || ran.capacity_bytes.has_value() != other.capacity_bytes.has_value())
        return false;
    return !ran.capacity_bytes || *ran.capacity_bytes <= *other.capacity_bytes;
}

/// Marks leaks: the process itself filled the device, but a trial that needs at least as much ran to its end. So the memory was left by
/// earlier trials. Nothing was left behind if the process began with this attempt, or if a trial as large ran at once afterwards in the
/// same process. For another attempt of hpo's, what held the memory is not known. Parameters of which the name does not say whether more
/// needs more must be equal. Only measured peaks can speak against the name of a plain size. The failures cannot, because a leak fails at
/// any size.
void find_leaks(std::span<FailureCase> cases, std::span<const Trial> trials) {
    const auto in_question = [](const FailureCase& entry) {
        const auto& memory = entry.failure.memory;
        const bool one_huge_request = entry.failure.requested_bytes && memory.capacity && *entry.failure.requested_bytes > *memory.capacity;
        return !entry.at_start && entry.is_oom() && entry.failure.cause == OomCause::capacity && memory.allocated && !one_huge_request;
    };
    if (std::ranges::none_of(cases, in_question)) return;
    std::set<const Trial*> failed;
    std::set<std::int64_t> capacities;
    for (const FailureCase& entry : cases) {
        failed.insert(entry.trial);
        if (const auto capacity = entry.failure.memory.capacity) capacities.insert(*capacity);
    }
    const bool several_devices = !capacities.empty() && *capacities.begin() * 51 < *capacities.rbegin() * 50;
    std::vector<Example> examples = memory_examples(trials, cases);
    const MemoryModel with_failures{examples};
    std::erase_if(examples, [](const Example& example) { return example.positive; });
    const MemoryModel model{examples};
    MemoryOrder order{trials, model};
    // Of numbers, only those count as larger whose name says so and whose peaks do not contradict it. The others must be equal.
    struct Comparison {
        bool by_name = false;
        bool skips_work = false;
    };
    std::vector<Comparison> comparisons;
    for (const MemoryAxis& axis : order.axes()) {
        const bool doubtful = !is_plain_size(axis.param) && with_failures.speaks_against_growth(axis.param);
        const bool by_name = axis.kind != MemoryAxis::Kind::number || (axis.direction == direction_by_name(axis.param) && !doubtful);
        comparisons.push_back({by_name, skips_work(axis.param)});
    }
    const auto at_least = [&](const Trial& other, const MemoryOrder::Point& a, const Trial& failed_one, const MemoryOrder::Point& b) {
        for (std::size_t i = 0; i < a.size(); ++i) {
            const std::string& param = order.axes()[i].param;
            if (comparisons[i].by_name ? !order.at_least(i, a, b) : a[i] != b[i] && !(std::isnan(a[i]) && std::isnan(b[i]))) return false;
            if (comparisons[i].skips_work && other.params.number(param) > failed_one.params.number(param)) return false;
        }
        return true;
    };
    struct Ran {
        const Trial* trial;
        MemoryOrder::Point point;
    };
    constexpr std::size_t most = 2000;  // so that many failures do not take too long
    std::vector<const Trial*> complete;
    for (const Trial& trial : trials) {
        if (trial.state == TrialState::complete && ran_well(trial) && !trial.params.empty() && !failed.contains(&trial))
            complete.push_back(&trial);
    }
    std::vector<Ran> ran;
    const auto point_of = [&](const FailureCase& entry) {
        return order.point_of(entry.params(), entry.attempt ? &entry.attempt->plan : nullptr);
    };
    const auto plan_of = [](const Trial& trial) { return trial.attempts.empty() ? nullptr : &trial.attempts.back().plan; };
    for (const Trial* trial : evenly_spaced<const Trial*>(complete, most))
        ran.push_back({trial, order.point_of(trial->params, plan_of(*trial))});
    std::map<std::string, const Trial*> same;
    for (const Trial* trial : complete) same.emplace(configuration_key(trial->params), trial);
    const std::map<std::string, const Trial*> first = first_trials(trials);
    // What is in use once a trial as large runs at once in the same process was the failed trial's own. So is as much in another trial
    // there.
    const SharedProcesses processes{trials};
    std::map<std::string, std::int64_t> own_bytes;
    if (!several_devices && !order.axes().empty()) {
        for (const FailureCase& entry : cases) {
            const auto process = processes.of(*entry.trial, entry.attempt);
            if (!process || !in_question(entry)) continue;
            const auto point = point_of(entry);
            const bool refuted = std::ranges::any_of(ran, [&](const Ran& other) {
                const Attempt* last = other.trial->attempts.empty() ? nullptr : &other.trial->attempts.back();
                return processes.of(*other.trial, last) == process && other.trial->started > entry.trial->started &&
                       at_least(*other.trial, other.point, *entry.trial, point);
            });
            if (refuted) own_bytes[*process] = std::max(own_bytes[*process], *entry.failure.memory.allocated);
        }
    }
    const auto was_its_own = [&](const FailureCase& entry) {
        if (entry.attempt && processes.began(*entry.attempt)) return true;
        const auto process = processes.of(*entry.trial, entry.attempt);
        const auto own = process ? own_bytes.find(*process) : own_bytes.end();
        return own != own_bytes.end() && *entry.failure.memory.allocated <= own->second;
    };
    std::size_t leaks = 0;
    std::size_t refuted = 0;  // of which it is not the size that decides: leaks and others
    std::vector<FailureCase*> others;
    for (FailureCase& entry : cases) {
        if (!in_question(entry)) continue;
        others.push_back(&entry);
        if (!entry.attempt && first.at(foreign_process(*entry.trial)) == entry.trial) continue;
        const auto proves = [&](const Trial& other) {  // unless it is so close that chance decides
            if (entry.attempt && !had_as_little(other, *entry.attempt)) return false;
            const auto peak = peak_of(other);
            const auto capacity = entry.failure.memory.capacity;
            return !(peak && capacity && static_cast<double>(*peak) > 0.93 * static_cast<double>(*capacity));
        };
        const auto equal = entry.attempt ? same.end() : same.find(configuration_key(entry.trial->params));
        const Trial* witness = equal != same.end() && proves(*equal->second) ? equal->second : nullptr;
        if (equal == same.end() && !several_devices && !order.axes().empty()) {
            const auto point = point_of(entry);
            const std::string machine = machine_of(*entry.trial);
            const auto larger = std::ranges::find_if(ran, [&](const Ran& other) {
                return at_least(*other.trial, other.point, *entry.trial, point) && machine_of(*other.trial) == machine &&
                       proves(*other.trial);
            });
            if (larger != ran.end()) witness = larger->trial;
        }
        if (!witness) continue;
        const std::string ran_so = "trial " + std::to_string(witness->number) + " ran to its end with " +
                                   (equal != same.end() ? "the same parameters" : "at least as much of everything that memory depends on");
        others.pop_back();
        ++refuted;
        if (entry.attempt || was_its_own(entry)) {
            entry.larger_ran = witness->number;
            entry.size_decides = false;
        }
        if (was_its_own(entry)) {
            entry.failure.evidence += "; " + ran_so + ", so no parameter decides";
            continue;
        }
        if (entry.attempt) {
            entry.failure.cause = OomCause::unknown;
            entry.failure.evidence += "; " + ran_so + ", so what else held memory here is not known";
            continue;
        }
        ++leaks;
        entry.failure.cause = OomCause::leak;
        entry.failure.evidence = ran_so + "; here " + format_bytes(*entry.failure.memory.allocated) +
                                 " were in use, left behind by earlier trials" +
                                 (entry.process.empty() ? "" : " of process " + entry.process);
    }
    if (refuted <= 3 * others.size()) return;
    for (FailureCase* entry : others) {
        entry->size_decides = false;
        if (leaks <= 3 * others.size()) {
            entry->failure.evidence += "; for most of the study's out-of-memories (" + std::to_string(refuted) +
                                       ") a trial as large ran to its end, so what decides is not known";
            continue;
        }
        entry->failure.cause = OomCause::unknown;
        entry->failure.evidence = "most of the study's out-of-memories (" + std::to_string(leaks) +
                                  ") were leaks, so how much this trial needs by itself is not known; no trial as large ran to its end";
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
