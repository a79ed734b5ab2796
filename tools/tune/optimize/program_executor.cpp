// SPDX-License-Identifier: MIT
#include "tune/optimize/program_executor.hpp"

#include <utility>

#include "hpo/base/error.hpp"
#include "hpo/core/value.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/failure/python_error.hpp"
#include "hpo/store/json_text.hpp"

namespace hpo::tune {

using tools::Json;

void ProgramExecutor::submit(const Job& job, ExecutorEvents& events) {
    running_.emplace(Running{.trial = job.trial});
    events.on(job.trial, AttemptStarted{front_.pid()});
    front_.run_here(job.trial, {{"HPO_STUDY", job.study},
                                {"HPO_TRIAL", std::to_string(job.trial)},
                                {"HPO_ATTEMPT", std::to_string(job.attempt)},
                                {"HPO_PARAMS", "{}"},
                                {"HPO_PLAN", "{}"},
                                {"HPO_DEVICE", job.plan.device.empty() ? "cpu" : job.plan.device},
                                {"HPO_SEED", std::to_string(job.seed)},
                                {"HPO_METRIC", metric_},
                                {"HPO_CHECKPOINT_FOLDER", ""},
                                {"HPO_RESUME_STEP", ""}});
}

void ProgramExecutor::wait(ExecutorEvents& events, double timeout_seconds) {
    if (!running_) return;
    if (const auto said = front_.next_said(static_cast<int>(timeout_seconds * 1000))) return hear(*said, events);
    if (!front_.gone()) return;
    AttemptOutcome outcome;
    outcome.kind = OutcomeKind::interrupted;
    end_with(std::move(outcome), events);
}

void ProgramExecutor::hear(const Json& said, ExecutorEvents& events) {
    if (said.value("trial", std::int64_t{-1}) != running_->trial) return;  // of an attempt that was given up
    if (const auto how = said.find("end"); how != said.end()) return end(*how, events);
    const auto line = said.find("line");
    if (line == said.end()) return;
    std::optional<Json> answer;
    try {
        answer = take(hpo::command::parse_program_line(tools::one_line_text(*line)), events);
    } catch (const Error& error) {
        if (error.code() != Errc::bad_value) throw;
        if (running_->first_unread.empty()) running_->first_unread = error.what();
        answer = Json{{"error", error.what()}};
    }
    if (answer && said.value("asks", false)) front_.answer_here(*answer);
}

std::optional<Json> ProgramExecutor::take(const hpo::command::ProgramLine& line, ExecutorEvents& events) {
    Running& now = *running_;
    for (const auto& [name, json] : line.attributes) now.attributes[name] = json;
    for (const auto& [name, value] : line.constraints) now.constraints[name] = value;
    if (!line.values.empty()) now.values = line.values;
    now.pruned = now.pruned || line.pruned;
    if (!line.prune_reason.empty()) now.prune_reason = line.prune_reason;
    if (line.report && !events.on(now.trial, *line.report).goes_on) now.should_stop = true;
    if (line.suggest) {
        if (interrupted_) return Json{{"error", "the study ends"}, {"stopped", true}};
        const Suggestion suggestion = events.on(now.trial, Question{line.suggest->name, line.suggest->distribution}).suggestion;
        if (suggestion.error.empty()) return Json{{"value", tools::to_json(suggestion.value)}};
        return Json{{"error", suggestion.error}};
    }
    if (!line.wants_answer) return std::nullopt;
    now.heard_verdict = now.should_stop || interrupted_;
    return Json{{"prune", now.heard_verdict}};
}

void ProgramExecutor::end(const Json& how, ExecutorEvents& events) {
    Running& now = *running_;
    AttemptOutcome outcome;
    const std::string said = how.value("error", "");
    const bool failed = how.value("status", 1) != 0;
    if (interrupted_ || how.value("interrupted", false)) {
        outcome.kind = OutcomeKind::interrupted;
    } else if (now.pruned && !failed) {
        outcome.kind = OutcomeKind::stopped;
        outcome.prunes_itself = true;
        outcome.heard_verdict = now.heard_verdict;
        outcome.prune_reason = now.prune_reason;
    } else if (!failed && now.values.size() == objectives_) {
        outcome.kind = OutcomeKind::complete;
        outcome.values = now.values;
    } else {
        outcome.failure = classify_exceptions(exceptions_in(said));
        if (!outcome.failure) outcome.failure = Failure{.message = said.empty() ? "the objective told no value" : said};
        if (!now.first_unread.empty()) outcome.failure->message += "; a line of it cannot be read: " + now.first_unread;
        outcome.failure->traceback = said;
    }
    end_with(std::move(outcome), events);
}

void ProgramExecutor::end_with(AttemptOutcome outcome, ExecutorEvents& events) {
    outcome.seconds = running_->watch.seconds();
    outcome.attributes = std::move(running_->attributes);
    outcome.constraints = std::move(running_->constraints);
    const std::int64_t trial = running_->trial;
    running_.reset();
    events.on(trial, std::move(outcome));
}

}  // namespace hpo::tune
