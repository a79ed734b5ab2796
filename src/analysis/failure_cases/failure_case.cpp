// SPDX-License-Identifier: MIT
#include "hpo/analysis/failure_cases/failure_case.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/failure_cases/memory_words.hpp"
#include "analysis/failure_cases/predicted_oom.hpp"
#include "hpo/analysis/failure_cases/attribute_value.hpp"
#include "hpo/analysis/failure_cases/peak_attribute.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/failure/cause.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/failure/not_run.hpp"
#include "hpo/failure/orphaned_copy.hpp"
#include "hpo/failure/rule_failure.hpp"
#include "hpo/failure/source_attributes.hpp"
#include "hpo/store/retries.hpp"
#include "hpo/store/store.hpp"

namespace hpo::analysis {

bool FailureCase::not_run() const { return was_not_run(*trial, failure.message); }

bool FailureCase::killed() const {
    if (silent()) return false;
    if (failure.kind != FailureKind::lost_worker) return was_killed(failure);
    if (failure.message == orphaned_copy_message) return false;
    return !attempt || lost_with_run() || failure.message.empty() || failure.message == vanished_message;
}

bool FailureCase::lost_with_run() const {
    return attempt && attempt->outcome == OutcomeKind::interrupted && failure.kind == FailureKind::lost_worker &&
           failure.message != orphaned_copy_message;
}

bool FailureCase::only_value_is_known() const {
    if (attempt || silent() || !failure.traceback.empty()) return false;
    return hpo::detail::mentions_any(
        hpo::detail::lower_case(failure.message),
        {"the value nan is not acceptable", "the objective function returned nan", "the value none could not be cast to float"});
}

}  // namespace hpo::analysis

namespace hpo::analysis::detail {

std::optional<double> trial_seconds(const Trial& trial) {
    const bool all_timed = std::ranges::all_of(trial.attempts, [](const Attempt& attempt) { return attempt.seconds.has_value(); });
    if (!trial.attempts.empty() && all_timed) {
        double seconds = 0;
        for (const Attempt& attempt : trial.attempts) seconds += *attempt.seconds;
        return seconds;
    }
    if (is_lost(trial)) return std::nullopt;  // its end is the run's last sign of life
    if (!trial.started || !trial.completed || *trial.completed < *trial.started) return std::nullopt;
    return seconds_between(*trial.started, *trial.completed);
}

/// A reading in GiB, as monitors of other programs leave it.
[[nodiscard]] std::optional<MemoryReading> foreign_reading(std::string_view json) {
    if (json.empty() || json.front() != '{') return std::nullopt;
    const auto member = [&](std::string_view name) -> std::optional<std::int64_t> {
        const auto gib = json_member_number(json, name);
        if (!gib || *gib < 0 || *gib > 0x1.0p20) return std::nullopt;
        return static_cast<std::int64_t>(*gib * 0x1.0p30);
    };
    MemoryReading reading;
    reading.allocated = member("allocated");
    reading.reserved = member("reserved");
    reading.free = member("free");
    reading.capacity = member("total");
    return reading;
}

/// What the attributes and the state of another program's trial say about its failure. Returns nullopt if the trial did not fail. A failure
/// without a place left no message. Only attributes that report a failure are read. A free-text note about memory is not one.
[[nodiscard]] std::optional<ToldFailure> foreign_failure(const Trial& trial, OrdinaryTexts& ordinary) {
    const Attributes& attributes = trial.user_attributes;
    const bool finished_well = trial.state == TrialState::complete && !trial.values.empty() && has_finite_values(trial);
    const std::string reason = attribute_text(attributes, {"prune_reason", "fail_reason"}).value_or("");
    const std::string_view flag = set_attribute(attributes, {"oom", "oom_error"});
    const bool predicted =
        hpo::detail::mentions_any(hpo::detail::lower_case(reason), {"oom_prevention", "oom prevention", "estimated memory"}) ||
        predicts_oom(reason);
    const bool marked = !flag.empty() || (!predicted && (reason == "oom" || reason.starts_with("OOM")));
    if (finished_well && !marked) return told_in_attributes(trial, ordinary);  // the program may have caught it and returned a value
    if (!marked && predicted) return ToldFailure{.failure = refused_by_program(reason), .place = "attribute prune_reason"};
    ToldFailure told;
    std::string message;
    for (const std::string_view name : {"error_message", "cuda_error_msg", "oom_error", "oom_message", "error", "exception"}) {
        auto text = json_string(attribute_json(attributes, name));
        if (!text) continue;
        if (!marked) {
            const auto says = told_by(name, *text, true);
            if (!says || (!says->certain && ordinary.contains(std::string{name}, "", *text))) continue;  // a setting
        }
        message = std::move(*text);
        told.place = "attribute " + std::string{name};
        break;
    }
    if (!marked && message.empty() && !attribute_is_set(attributes, "cuda_error")) {
        if (auto found = told_in_attributes(trial, ordinary)) return found;
        if (trial.state != TrialState::fail || is_marked_lost(trial)) return std::nullopt;  // a lost trial ended before its launch
        told.place.clear();
        told.failure.kind = FailureKind::lost_worker;
        return told;
    }
    const std::string type = attribute_text(attributes, {"cuda_error_type", "error_type"}).value_or("");
    if (!marked && predicts_oom(message)) return ToldFailure{.failure = refused_by_program(message), .place = told.place};
    told.failure = type.empty() ? classify_python(message) : classify_text({.type = type, .message = message});
    if (message.empty()) told.place = "attribute " + std::string{!flag.empty() ? flag : marked ? "prune_reason" : "cuda_error"};
    if (told.failure.kind == FailureKind::trainer_error) {  // the message does not show the kind; another attribute may
        if (auto found = told_in_attributes(trial, ordinary); found && found->failure.kind != FailureKind::trainer_error)
            told = std::move(*found);
    }
    if (auto traceback = attribute_text(attributes, {"error_traceback", "traceback"})) told.failure.traceback = std::move(*traceback);
    if (marked && told.failure.kind != FailureKind::host_out_of_memory) told.failure.kind = FailureKind::out_of_memory;
    return told;
}

/// What the text with which a program of ours pruned a trial tells, where its last attempt has no failure.
[[nodiscard]] std::optional<Failure> pruned_by_own_text(const Trial& trial) {
    if (trial.state != TrialState::pruned || trial.attempts.empty() || trial.attempts.back().failure) return std::nullopt;
    const auto reason = attribute_text(trial.user_attributes, {prune_reason_attribute});
    const std::string begin = std::string{pruned_by_program} + ": ";
    return reason && reason->starts_with(begin) ? failure_in_pruned_text(std::string_view{*reason}.substr(begin.size())) : std::nullopt;
}

/// What attributes and log together say about another program's trial. If the attributes have an out-of-memory's figures, they win.
/// Otherwise the one that says more about the cause wins, and on a tie the log.
[[nodiscard]] std::optional<ToldFailure> told_failure(const Trial& trial, const ToldFailures& log, OrdinaryTexts& ordinary) {
    auto told = is_finished(trial.state) ? foreign_failure(trial, ordinary) : std::nullopt;
    const auto found = log.find(trial.number);
    if (found == log.end()) return told;
    if (trial.state == TrialState::complete && !told) {
        const Failure& failure = found->second.failure;
        return was_killed(failure) || is_memory(failure.kind) ? std::optional{found->second} : told;
    }
    const bool silent = !told || told->place.empty();
    const bool has_figures = told && is_memory(told->failure.kind) && told->failure.requested_bytes;
    if (has_figures || (!silent && !tells_at_least(found->second.failure, told->failure))) return told;
    return found->second;
}

/// Maps a trial's number to the trial that Optuna began in its place, after its process gave no sign of life.
[[nodiscard]] std::map<std::int64_t, std::int64_t> repeated_trials(std::span<const Trial> trials) {
    std::map<std::int64_t, std::int64_t> repeated;
    for (const Trial& trial : trials) {
        if (const auto history = retry_history(trial); !history.empty()) repeated.emplace(history.back(), trial.number);
    }
    return repeated;
}

std::string foreign_process(const Trial& trial) {
    std::string who;
    for (const std::string_view name : {"worker", "worker_id", "hostname", "host", "pid", "process_id"}) {
        const std::string_view json = attribute_json(trial.user_attributes, name);
        if (json.empty()) continue;
        if (!who.empty()) who += ' ';
        who += json_string(json).value_or(std::string{json});
    }
    return who;
}

std::optional<MemoryReading> start_of(const Trial& trial, const Attempt* attempt) {
    if (!attempt) return foreign_reading(attribute_json(trial.user_attributes, "gpu_memory_start"));
    for (const MemoryMark& mark : attempt->memory) {
        if (mark.name == "trial_start") return mark.reading;
    }
    return std::nullopt;
}

bool peaks_are_of_the_host(std::span<const FailureCase> cases) {
    return std::ranges::any_of(cases, [](const FailureCase& entry) {
        const Attempt* attempt = entry.attempt;
        return attempt && entry.failure.kind == FailureKind::out_of_memory && attempt->plan.device == "cpu" && !attempt->capacity_bytes;
    });
}

/// The failure of an attempt of ours.
[[nodiscard]] FailureCase case_of_attempt(const Trial& trial, const Attempt& attempt, Failure failure) {
    FailureCase entry{.trial = &trial,
                      .attempt = &attempt,
                      .failure = std::move(failure),
                      .seconds = attempt.seconds,
                      .at_start = start_of(trial, &attempt),
                      .process = {},
                      .victim_of = {},
                      .told_in = {},
                      .repeated_by = {}};
    if (attempt.worker_pid > 0) entry.process = std::to_string(attempt.worker_pid);
    return entry;
}

}  // namespace hpo::analysis::detail

namespace hpo::analysis {

std::optional<std::int64_t> peak_of(const Trial& trial) {
    std::optional<std::int64_t> peak;
    for (const Attempt& attempt : trial.attempts) {
        if (const auto own = peak_of(attempt)) peak = std::max(peak.value_or(*own), *own);
    }
    if (peak || !trial.attempts.empty()) return peak;
    return peak_attribute(trial.user_attributes);
}

void each_with_failure_cases(std::span<const Trial> trials, const ToldFailures& log,
                             const std::function<void(const Trial&, std::vector<FailureCase>)>& visit) {
    const auto repeated = detail::repeated_trials(trials);
    OrdinaryTexts ordinary{trials};
    for (const Trial& trial : trials) {
        std::vector<FailureCase> cases;
        for (const Attempt& attempt : trial.attempts) {
            if (!attempt.failure) continue;
            FailureCase entry = detail::case_of_attempt(trial, attempt, *attempt.failure);
            const bool ran = trial.state == TrialState::complete || trial.state == TrialState::pruned;
            entry.recovered = ran && !trial.attempts.back().failure;
            cases.push_back(std::move(entry));
        }
        if (auto told = detail::pruned_by_own_text(trial)) {
            cases.push_back(detail::case_of_attempt(trial, trial.attempts.back(), *std::move(told)));
            cases.back().told_in = std::string{"attribute "} + prune_reason_attribute;
        }
        if (auto rule = rule_failure(trial)) {
            cases.push_back({.trial = &trial,
                             .attempt = &trial.attempts.back(),
                             .failure = *std::move(rule),
                             .seconds = {},
                             .at_start = {},
                             .process = {},
                             .victim_of = {},
                             .told_in = {},
                             .repeated_by = {}});
        }
        if (auto told = trial.attempts.empty() ? detail::told_failure(trial, log, ordinary) : std::nullopt) {
            FailureCase entry{.trial = &trial,
                              .failure = std::move(told->failure),
                              .seconds = detail::trial_seconds(trial),
                              .at_start = detail::start_of(trial, nullptr),
                              .process = detail::foreign_process(trial),
                              .victim_of = {},
                              .told_in = std::move(told->place),
                              .repeated_by = {}};
            if (const auto other = repeated.find(trial.number); other != repeated.end() && entry.silent())
                entry.repeated_by = other->second;
            entry.caught = trial.state == TrialState::complete;
            cases.push_back(std::move(entry));
        }
        for (FailureCase& entry : cases) {
            if (is_memory(entry.failure.kind) && !entry.failure.cause)
                explain_oom(entry.failure, {.at_start = entry.at_start, .capacity = {}});
        }
        visit(trial, std::move(cases));
    }
}

std::vector<FailureCase> failure_cases(std::span<const Trial> trials, const ToldFailures& log) {
    std::vector<FailureCase> all;
    each_with_failure_cases(trials, log, [&](const Trial&, std::vector<FailureCase> cases) {
        all.insert(all.end(), std::make_move_iterator(cases.begin()), std::make_move_iterator(cases.end()));
    });
    return all;
}

}  // namespace hpo::analysis
