// SPDX-License-Identifier: MIT
#include "tune/display/progress.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "hpo/base/bytes.hpp"
#include "hpo/core/history.hpp"
#include "hpo/core/memory_leak.hpp"
#include "hpo/core/study.hpp"
#include "hpo/failure/rule_failure.hpp"
#include "hpo/store/store.hpp"
#include "hpo/tuner/options.hpp"
#include "hpo/tuner/verdicts.hpp"
#include "tune/display/event_text.hpp"
#include "tune/display/text.hpp"

namespace hpo::tune {
namespace {

std::string plan_of(const ExecutionPlan& plan) {
    const auto micro = plan.effective_micro_batch();
    if (!plan.effective_batch || !micro) return {};
    return "batch " + std::to_string(*plan.effective_batch) + " as " + std::to_string(plan.accumulation_steps()) + " x " +
           std::to_string(*micro);
}

/// The text of a JSON string without escapes in it; anything else as it is.
std::string unquoted(const std::string& json) {
    if (json.size() < 2 || json.front() != '"' || json.find('\\') != std::string::npos) return json;
    return json.substr(1, json.size() - 2);
}

/// "12.25 MiB refused with 125.71 MiB in use in forward"; empty when not known.
std::string figures_of(const Failure& failure) {
    if (!failure.requested_bytes) return {};
    std::string text = format_bytes(*failure.requested_bytes) + " refused";
    if (failure.memory.allocated) text += " with " + format_bytes(*failure.memory.allocated) + " in use";
    return failure.where.empty() ? text : text + " in " + failure.where;
}

std::string reason_of(const Trial& trial) {
    if (trial.attempts.empty() || !trial.attempts.back().failure) {
        const auto reason = trial.user_attributes.find("error_message");
        return reason == trial.user_attributes.end() ? std::string{} : unquoted(reason->second);
    }
    const Attempt& last = trial.attempts.back();
    if (const auto rule = rule_failure(trial))
        return failure_text(*rule) + "; the rule was asked about " + std::string{to_text(last.failure->kind)};
    const bool decided = !last.decision.empty() && last.decision != to_text(last.failure->kind);
    return failure_text(*last.failure) + (decided ? "; " + last.decision : "");
}

/// The attempt's parameters, as far as they are known before it runs.
std::string params_text(const Trial& trial, const Attempt& attempt) {
    const ParamSet& params = params_of(trial, attempt);
    return params.empty() ? "asks for its parameters" : summary_of(params);
}

}  // namespace

void Progress::on(const StudyEvent& event) {
    std::visit([this](const auto& told) { show(told); }, event);
}

void Progress::show(const event::StudyOpened& event) {
    const auto& [study, trials] = event;
    study_ = study;
    for (const Trial& trial : trials) {
        count(trial);
        learn_pace(trial);
    }
    const std::int64_t wanted = wanted_trials();
    const bool is_endless = wanted >= endless_trials;
    if (trials.empty())
        return line("study " + study.name + ": new, " +
                    (is_endless ? "runs until it is stopped" : tools::counted(static_cast<std::size_t>(wanted), "trial")));
    const auto done = static_cast<std::int64_t>(counts_.ended());
    const std::size_t interrupted = counts_.interrupted;
    const std::size_t open = counts_.running + counts_.waiting;
    std::string text = "study " + study.name + ": " + std::to_string(done) + (is_endless ? "" : " of " + std::to_string(wanted)) + " done";
    if (interrupted > 0)
        text += ", " + std::to_string(interrupted) + (interrupted == 1 ? " interrupted one does" : " interrupted ones do") + " not count";
    if (open > 0) text += ", " + std::to_string(open) + " running or waiting";
    const std::int64_t missing = std::max<std::int64_t>(0, wanted - done);
    if (is_endless) return line(text + "; runs until it is stopped");
    line(text + (missing > 0 ? "; " + std::to_string(missing) + " to go" : "; nothing to do"));
}

std::int64_t Progress::wanted_trials() const {
    if (!settings_.own_trials) return settings_.trials;
    return static_cast<std::int64_t>(counts_.ended()) + std::max<std::int64_t>(0, *settings_.own_trials - counted_here_);
}

void Progress::count(const Trial& trial) {
    counts_.add(trial);
    if (study_.directions.size() != 1) return;
    const Trial* const configuration = is_finished(trial.state) ? seeds_.take(trial) : nullptr;
    const Trial* const best = configuration ? best_trial({configuration, 1}, study_.directions[0]) : nullptr;
    if (best && (!best_ || better(study_.directions[0], best->values[0], *best_))) {
        best_ = best->values[0];
        best_trial_ = best->number;
    }
}

void Progress::learn_pace(const Trial& trial) {
    if (!counts_as_done(trial)) return;
    if (trial.state == TrialState::complete && !trial.intermediate.empty()) {
        first_step_ = trial.intermediate.begin()->first;
        last_step_ = std::max(last_step_, trial.intermediate.rbegin()->first);
    }
    if (trial.state == TrialState::complete && !trial.attempts.empty()) times_.ended(trial.attempts.back().seconds.value_or(0));
    double seconds = 0;
    for (const Attempt& attempt : trial.attempts) seconds += attempt.seconds.value_or(0);
    if (seconds <= 0) return;
    ++paced_;
    paced_seconds_ += seconds;
}

void Progress::show(const event::OthersChanged& event) {
    counts_ = {};
    seeds_ = {};
    for (const Trial& trial : event.trials) count(trial);
    refresh();
}

void Progress::show(const event::WaitsForOthers& event) {
    line("waiting for " + std::to_string(event.missing) + (event.missing == 1 ? " trial" : " trials") + " that another process runs");
}

void Progress::show(const event::TrialGoesOn& event) {
    line("trial " + std::to_string(event.trial.number) + ": " + goes_on_text(event.trial, event.lost));
}

void Progress::show(const event::TrialBeginsAnew& event) {
    note("trial " + std::to_string(event.lost.number) + ", which was interrupted, does not go on from its checkpoint: " + event.why);
}

void Progress::show(const event::TrialLeftAlone& event) {
    note("trial " + std::to_string(event.lost.number) + ", which was interrupted, is not run again: " + event.why);
}

void Progress::show(const event::ValueLeftOut& event) { note("trial " + std::to_string(event.trial.number) + ": " + event.what); }

void Progress::show(const event::RetryNoted& event) { note("trial " + std::to_string(event.trial.number) + ": " + event.what); }

void Progress::show(const event::TrialReplayed& event) {
    note("trial " + std::to_string(event.trial.number) + " once more, with kernel launches that block: " + event.told +
         "; its log has all of it");
}

void Progress::describe(Running& running, const Trial& trial, const Attempt& attempt) const {
    const std::size_t index = running.waits ? trial.attempts.size() : static_cast<std::size_t>(attempt.index);
    running.device = attempt.plan.device;
    running.what = plan_of(attempt.plan) + (index > 0 ? " (" + tools::attempt_name(static_cast<int>(index)) + ")" : "") + "  " +
                   params_text(trial, attempt);
}

void Progress::show(const event::AttemptWaits& event) {
    const auto& [trial, attempt, wait] = event;
    Running& running = running_[trial.number];
    running = Running{.waits = wait, .earlier_seconds = running.earlier_seconds};
    describe(running, trial, attempt);
    refresh();
}

void Progress::stops(Running& running) {
    if (running.waits) return;
    running.earlier_seconds += running.since.seconds();
    ended_seconds_ += running.since.seconds();
    running.waits.emplace();
    running.allocated.reset();  // its worker has another trial's
    running.worker_pid = 0;
    if (active_ > 0 && --active_ == 0) any_ran_seconds_ += any_runs_.seconds();
}

void Progress::show(const event::AttemptBegan& event) {
    const auto& [trial, attempt] = event;
    if (settings_.attempt_started) settings_.attempt_started();
    const auto before = running_.find(trial.number);
    if (before != running_.end()) stops(before->second);
    running_[trial.number] = Running{.earlier_seconds = before == running_.end() ? 0 : before->second.earlier_seconds};
    if (active_++ == 0) any_runs_ = Stopwatch{};
    describe(running_[trial.number], trial, attempt);
    if (settings_.style == ProgressStyle::plain && attempt.index == 0) {
        const std::string pieces = attempt.plan.accumulation_steps() > 1 ? "; " + plan_of(attempt.plan) : "";
        const std::string device = settings_.devices.size() > 1 ? "; on " + attempt.plan.device : "";
        line("trial " + std::to_string(trial.number) + ": " + params_text(trial, attempt) + pieces + device);
    }
    refresh();
}

void Progress::show(const event::Reported& event) {
    const auto& [trial, report] = event;
    Running& running = running_[trial.number];
    running.latest = report;
    running.seconds_at_latest = running.taken();
    refresh();
}

void Progress::show(const event::MemoryMarked& event) {
    const auto& [trial, mark] = event;
    if (mark.name == leak_mark && mark.reading.allocated) {
        line("trial " + std::to_string(trial.number) + ": memory leak, " + format_bytes(*mark.reading.allocated) +
             " were still allocated after it; its worker is replaced");
        return;
    }
    if (const std::string text = replaced_text(mark); !text.empty()) {
        const std::string told = "trial " + std::to_string(trial.number) + ": " + text;
        return mark.name == host_growth_mark ? note(told) : line(told);
    }
    Running& running = running_[trial.number];
    if (mark.reading.allocated) running.allocated = mark.reading.allocated;
    if (!trial.attempts.empty()) running.worker_pid = trial.attempts.back().worker_pid;
    for (ShownDevice& device : settings_.devices) {
        if (device.name == running.device && mark.reading.capacity && !device.capacity_bytes) device.capacity_bytes = mark.reading.capacity;
    }
}

void Progress::show(const event::AttemptEnded& event) {
    const auto& [trial, attempt] = event;
    say_what_is_due();
    if (const auto running = running_.find(trial.number); running != running_.end()) stops(running->second);
    if (!attempt.failure) return;
    // The end of a trial follows at once, and says all of it in one line.
    due_ = Due{.trial = trial.number, .figures = {}, .line = "trial " + std::to_string(trial.number) + ": "};
    if (is_memory(attempt.failure->kind)) {
        due_->figures = figures_of(*attempt.failure);
        due_->line += attempt.decision.empty() ? "out of memory" : attempt.decision;
        if (!due_->figures.empty()) due_->line += " (" + due_->figures + ")";
    } else {
        due_->line += failure_text(*attempt.failure);
        if (attempt.decision != to_text(attempt.failure->kind) && !attempt.decision.empty()) due_->line += "; " + attempt.decision;
    }
}

void Progress::show(const event::TrialFinished& event) {
    const Trial& trial = event.trial;
    if (settings_.trial_finished) settings_.trial_finished(trial);
    if (const auto running = running_.find(trial.number); running != running_.end()) {
        stops(running->second);
        running_.erase(running);
    }
    const auto best_before = best_trial_;
    count(trial);
    ++finished_here_;
    counted_here_ += counts_as_done(trial) ? 1 : 0;
    learn_pace(trial);
    double seconds = 0;
    for (const Attempt& attempt : trial.attempts) seconds += attempt.seconds.value_or(0);
    std::string text = "trial " + std::to_string(trial.number) + ": ";
    const std::optional<Due> own = due_ && due_->trial == trial.number ? std::exchange(due_, std::nullopt) : std::nullopt;
    if (!counts_as_done(trial)) {
        line(text + "interrupted");
        return;
    }
    if (trial.state == TrialState::complete) {
        text += "complete";
        for (std::size_t i = 0; i < trial.values.size(); ++i)
            text += ", " + settings_.metrics.at(i) + " " + metric_value_text(settings_.metrics.at(i), trial.values[i]);
        if (best_trial_ != best_before) text += ", the best so far";
    } else if (trial.state == TrialState::pruned) {
        text += (trial.feasible() ? "pruned" : "pruned, infeasible");
        const auto reason = trial.user_attributes.find("prune_reason");
        const bool failed = !trial.attempts.empty() && trial.attempts.back().failure;
        const std::string decision = failed ? trial.attempts.back().decision : std::string{};
        if (reason != trial.user_attributes.end()) {
            text += ": " + unquoted(reason->second) + (decision.starts_with(tuner::given_up) ? "; " + decision : "");
        } else if (!decision.empty()) {
            text += ": " + decision;
        }
    } else {
        text += "failed, " + reason_of(trial);
    }
    text += " (" + (own && !own->figures.empty() ? own->figures + "; " : "") + duration(seconds) +
            (trial.attempts.size() > 1 ? ", " + std::to_string(trial.attempts.size()) + " attempts" : "") + ")";
    // On a terminal the counts show ordinary ends; only the notable scroll by.
    if (settings_.style == ProgressStyle::plain || best_trial_ != best_before || own || trial.state == TrialState::fail ||
        trial.attempts.size() > 1)
        line(text);
    refresh();
}

void Progress::show(const event::ConfigurationRejected& event) {
    ++rejected_;
    if (refused_in_a_row_ > 0) {
        ++refused_in_a_row_;
        latest_refusal_ = event.rejection.reason;
        return;
    }
    say_what_is_due();
    refused_in_a_row_ = 1;
    if (settings_.style == ProgressStyle::plain) write(rejected_text(event.rejection));
}

void Progress::show(const event::Mispredicted& event) {
    note("trial " + std::to_string(event.trial.number) + ": " + event.how + "; hpo-analyze oom tells how good the other predictions were");
}

void Progress::show(const event::DeviceLeftOut& event) { note(device_left_out_text(event.device, event.seconds, event.latest)); }

void Progress::show(const event::AllWait& event) { note(all_wait_text(event.trials, event.seconds)); }

void Progress::show(const event::AttributeDropped& event) {
    if (dropped_.insert(event.dropped.name).second) note("trial " + std::to_string(event.trial.number) + ": " + event.dropped.note());
}

void Progress::show(const event::SourceGivenUp& event) { note(source_given_up_text(event.source, event.family)); }

void Progress::note(const std::string& text) {
    say_what_is_due();
    write("hpo-tune: note: " + text);
}

void Progress::line(const std::string& text) {
    say_what_is_due();
    if (settings_.style != ProgressStyle::none) write(text);
}

void Progress::say_what_is_due() {
    const std::int64_t more = std::exchange(refused_in_a_row_, 0) - 1;
    if (more > 0 && settings_.style == ProgressStyle::plain)
        write(tools::counted(static_cast<std::size_t>(more), "more proposal") + " refused before launch; the last: " + latest_refusal_);
    if (const auto due = std::exchange(due_, std::nullopt); due && settings_.style != ProgressStyle::none) write(due->line);
}

void Progress::write(const std::string& text) {
    if (screen_) draw({text});
    else tools::write_all(settings_.out, tools::on_one_line(text) + "\n");
}

void Progress::refresh() {
    if (due_) say_what_is_due();
    for (const auto& [trial, running] : running_) {
        if (running.waits) continue;
        if (const auto overlong = times_.warning(trial, running.since.seconds())) note(*overlong);
    }
    if (screen_ && std::chrono::steady_clock::now() - drawn_ >= std::chrono::milliseconds{100}) draw({});
}

void Progress::finish() {
    say_what_is_due();
    if (screen_) screen_->clear();
}

}  // namespace hpo::tune
