// SPDX-License-Identifier: MIT
#include <algorithm>
#include <iterator>
#include <memory>

#include "analyze/commands/commands.hpp"
#include "analyze/shown/attempt_log.hpp"
#include "analyze/shown/brief_json.hpp"
#include "analyze/shown/change_words.hpp"
#include "analyze/shown/log.hpp"
#include "analyze/shown/objectives.hpp"
#include "analyze/shown/silent_page.hpp"
#include "analyze/shown/timeline.hpp"
#include "hpo/analysis/changed_params.hpp"
#include "hpo/analysis/failure_cases/failure_name.hpp"
#include "hpo/analysis/oom.hpp"
#include "hpo/base/error.hpp"
#include "hpo/core/memory_leak.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/core/plan_text.hpp"
#include "hpo/failure/failure_line.hpp"
#include "hpo/failure/stack_frames.hpp"
#include "hpo/guard/calibration/model_family.hpp"
#include "hpo/store/retries.hpp"
#include "support/json.hpp"
#include "support/metric_text.hpp"
#include "support/options.hpp"
#include "support/text.hpp"

namespace hpo::analyze {

using namespace hpo::tools;

namespace {

Json failure_json(const hpo::Failure& failure) {
    Json json = to_json(failure);
    json["name"] = hpo::analysis::failure_name(failure);
    return json;
}

Json attempt_json(const hpo::Attempt& attempt) {
    Json json = to_json(attempt);
    if (attempt.worker_pid == 0) json["worker_pid"] = nullptr;
    if (attempt.failure) json["failure"] = failure_json(*attempt.failure);
    json["leaked_bytes"] = or_null(hpo::leaked_bytes(attempt));
    return json;
}

std::string plan_text(const hpo::ExecutionPlan& plan) {
    std::string text = plan.device;
    if (const auto micro = plan.effective_micro_batch()) {
        text += ", micro-batch " + std::to_string(*micro);
        if (plan.accumulation_steps() > 1) text += " x " + std::to_string(plan.accumulation_steps()) + " steps";
    }
    if (plan.effective_batch) text += ", effective batch " + std::to_string(*plan.effective_batch);
    static const hpo::ExecutionPlan plain;
    hpo::each_plan_field([&](const auto& field) {
        const bool told = field.unit == hpo::PlanUnit::examples || field.role == hpo::PlanRole::placement;
        if (!told && plan.*field.member != plain.*field.member) text += ", " + hpo::plan_words(field, plan.*field.member);
    });
    return text;
}

/// A failed attempt of the trial, with the change that would have avoided it.
struct TrialFailure {
    const hpo::analysis::FailureCase* failed = nullptr;
    const hpo::analysis::Change* change = nullptr;  ///< null: none is known
};

void print_failure(const Page& page, const TrialFailure& told) {
    const hpo::analysis::FailureCase& entry = *told.failed;
    const hpo::analysis::Change* const change = told.change;
    const hpo::Failure& failure = entry.failure;
    const auto item = [&](std::string_view name, const std::string& text) {
        std::string label = "    " + std::string{name};
        label.resize(15, ' ');
        page.paragraph(label + text, 15);
    };
    if (entry.silent()) {
        item("failed", "no message was kept");
        return;
    }
    const std::string name{entry.not_run() ? hpo::analysis::failure_name(entry) : hpo::analysis::failure_name(failure)};
    const std::string kind{to_text(failure.kind)};
    item("failed", name + (name == kind || entry.not_run() ? "" : ", of the kind " + kind) +
                       (failure.cause ? ", cause " + std::string{to_text(*failure.cause)} : "") +
                       (failure.where.empty() ? "" : ", in " + failure.where));
    if (entry.victim)
        item("victim",
             "the process was already poisoned" + (entry.victim_of ? " by trial " + std::to_string(*entry.victim_of) : std::string{}));
    if (!failure.evidence.empty()) item("evidence", failure.evidence);
    if (!entry.told_in.empty()) item("told in", entry.told_in);
    if (change) {
        const bool tried = change->basis != hpo::analysis::Change::Basis::figures;
        item("would fit", change->text() + (tried ? " (" + basis_text(*change) + ")" : ""));
    } else if (entry.is_oom()) {
        item("would fit", no_change_text);
    }
    if (!failure.message.empty()) item("message", one_line(failure_line(failure), 400));
    // The frames of a C++ stack are in the JSON.
    std::string said = hpo::without_frames(failure.traceback);
    const bool is_more = failure.message.find(said) == std::string::npos;
    if (!is_more) said = hpo::without_frames(failure.message);
    if (is_more || said.find_first_not_of('\n', said.find('\n')) != std::string::npos) {
        std::string_view rest = said;
        while (!rest.empty() && rest.back() == '\n') rest.remove_suffix(1);
        std::vector<std::string_view> lines;
        while (!rest.empty() && lines.size() < 6) {
            const auto at = rest.rfind('\n');
            lines.push_back(at == std::string_view::npos ? rest : rest.substr(at + 1));
            rest = at == std::string_view::npos ? std::string_view{} : rest.substr(0, at);
        }
        for (std::size_t i = lines.size(); i-- > 0;)
            page.line("               " + one_line(lines[i], page.width() > 31 ? page.width() - 15 : 16));
    }
}

/// The failures of one trial in the order of its attempts.
std::vector<TrialFailure> failures_of(const hpo::analysis::OomReport& report, const hpo::Trial& trial) {
    std::vector<TrialFailure> found;
    for (const auto& entry : report.cases) {
        if (entry.failed.trial == &trial) found.push_back({.failed = &entry.failed, .change = entry.change ? &*entry.change : nullptr});
    }
    for (const auto& entry : report.other_failures) {
        if (entry.trial == &trial) found.push_back({.failed = &entry});
    }
    std::ranges::stable_sort(found, {}, [](const TrialFailure& entry) { return entry.failed->attempt ? entry.failed->attempt->index : 0; });
    return found;
}

/// What is known of a trial beside its own record.
struct TrialContext {
    std::vector<TrialFailure> failures;
    std::string shows;              ///< what its row shows of a failure without a message
    std::vector<std::string> logs;  ///< of its attempts
};

Json trial_json(const hpo::Trial& one, const TrialContext& context) {
    Json json = brief_json(one);
    json["shows"] = text_or_null(context.shows);
    Json intermediate = Json::array();
    for (const auto& [step, value] : one.intermediate) intermediate.push_back({{"step", step}, {"value", to_json(value)}});
    json["intermediate"] = std::move(intermediate);
    Json constraints = Json::object();
    for (const auto& [name, value] : one.constraints) constraints[name] = to_json(value);
    json["constraints"] = std::move(constraints);
    json["user_attributes"] = to_json(one.user_attributes);
    json["system_attributes"] = to_json(one.system_attributes);
    Json attempts = Json::array();
    for (std::size_t i = 0; i < one.attempts.size(); ++i) {
        attempts.push_back(attempt_json(one.attempts[i]));
        attempts.back()["log"] = context.logs[i].empty() ? Json(nullptr) : Json(context.logs[i]);
    }
    json["attempt_list"] = std::move(attempts);
    Json list = Json::array();
    for (const auto& [entry, change] : context.failures) {
        Json failure = failure_json(entry->failure);
        failure["name"] = hpo::analysis::failure_name(*entry);
        if (entry->silent() || entry->not_run()) failure["kind"] = nullptr;
        failure["told_in"] = text_or_null(entry->told_in);
        failure["attempt"] = entry->attempt ? Json(entry->attempt->index) : Json(nullptr);
        failure["victim_of"] = or_null(entry->victim_of);
        failure["fix"] = change ? Json(change->text()) : Json(nullptr);
        list.push_back(std::move(failure));
    }
    json["failures"] = std::move(list);
    return json;
}

/// The trial in whose place this one was begun, in the words of hpo-tune run.
std::string instead_of_text(const hpo::Trial& one, std::int64_t lost) {
    const std::string which = "trial " + std::to_string(lost);
    const auto resumed = one.attempts.empty() ? std::nullopt : one.attempts.front().resumed_step;
    if (!resumed) return "runs " + which + " again, which was interrupted";
    return "goes on with " + which + ", which was interrupted, after step " + std::to_string(*resumed);
}

/// What the store cannot tell about a trial that is RUNNING there.
std::string_view running_doubt(const hpo::analysis::SilentReport& silent, const hpo::Trial& one) {
    if (std::ranges::find(silent.stale, &one, &hpo::analysis::StaleTrial::trial) != silent.stale.end())
        return " in the store, but its process is probably gone";
    if (std::ranges::find(silent.open, &one) != silent.open.end()) return " in the store, or its process is gone";
    return std::ranges::find(silent.abandoned, &one) != silent.abandoned.end() ? " in the store, but its run is gone" : "";
}

void print_head(const Page& page, const StudyData& data, const hpo::Trial& one, std::string_view doubt) {
    const Objectives objectives{data.study};
    page.heading("Trial " + std::to_string(one.number) + " of study " + data.study.name + ": " +
                 std::string{hpo::analysis::state_word(one)} + std::string{doubt} +
                 (one.values.empty() ? "" : ", " + objectives.values_text(one)) + (one.feasible() ? "" : ", infeasible"));
    if (one.started) {
        const auto seconds = hpo::analysis::detail::trial_seconds(one);
        page.line("  " + clock_time(*one.started) + (seconds ? ", " + duration(*seconds) : ""));
    }
    if (const auto history = hpo::retry_history(one); !history.empty()) page.line("  " + instead_of_text(one, history.back()));
    if (!one.params.empty()) {
        page.line("  parameters");
        Table table{{{""}, {""}}};
        for (const hpo::Param& param : one.params) table.row({param.name, hpo::display_text(param.value())});
        table.print(page, 4);
    }
    for (const auto& [name, value] : one.constraints)
        page.line("  constraint " + name + ": " + metric_value_text(name, value) + (value > 0 ? " (violated)" : ""));
    if (!one.intermediate.empty()) {
        const auto last = std::prev(one.intermediate.end());
        page.line("  " + counted(one.intermediate.size(), "report") + ", the last at step " + std::to_string(last->first) + ": " +
                  (objectives.reported().empty() ? "" : objectives.reported() + " ") +
                  metric_value_text(objectives.reported(), last->second));
    }
}

void print_attempt(const Page& page, const hpo::Trial& one, const hpo::Attempt& attempt, const TrialContext& context,
                   std::string_view log) {
    std::string text = "  " + attempt_name(attempt.index) + ": " + plan_text(attempt.plan) +
                       (attempt.resumed_step ? "; from after step " + std::to_string(*attempt.resumed_step) : "") + "; " +
                       (attempt.outcome ? std::string{to_text(*attempt.outcome)} : "running");
    if (attempt.seconds) text += " after " + duration(*attempt.seconds);
    const auto peak = attempt.peak_reserved ? attempt.peak_reserved : attempt.peak_allocated;
    if (peak) text += ", peak " + hpo::format_bytes(*peak);
    if (attempt.estimate && attempt.estimate->need) text += ", predicted " + hpo::format_bytes(*attempt.estimate->need);
    page.paragraph(text, 4);
    if (const std::string changed = hpo::analysis::changes_text(one, attempt); !changed.empty())
        page.paragraph("    ran with   " + changed, 15);
    for (const TrialFailure& entry : context.failures) {
        if (entry.failed->attempt == &attempt) print_failure(page, entry);
    }
    print_timeline(page, attempt);
    print_log(page, log);
    if (!attempt.decision.empty()) page.paragraph("    answer     " + attempt.decision, 15);
}

void print_attributes(const Page& page, const hpo::Trial& one) {
    if (one.user_attributes.empty()) return;
    page.line("  attributes");
    Table table{{{""}, {""}}};
    for (const auto& [name, text] : one.user_attributes) table.row({name, attribute_text(name, text)});
    table.print(page, 4);
}

const hpo::Trial& trial_of(const StudyData& data, std::int64_t number) {
    const auto found = std::ranges::find(data.trials, number, &hpo::Trial::number);
    if (found != data.trials.end()) return *found;
    const std::string known = data.trials.empty() ? "the study has none yet" : "known: 0 to " + std::to_string(data.trials.back().number);
    throw hpo::Error{hpo::Errc::unknown_name, "study '" + data.study.name + "': no trial " + std::to_string(number) + "; " + known};
}

void trial(const Query& query, std::int64_t number) {
    const StudyData data = read_study(query);
    const hpo::Trial& one = trial_of(data, number);
    const auto log = read_logs(query.logs, data.trials);
    const auto report = hpo::analysis::oom_report(data.trials, data.rejections, data.context(), log.told);
    const TrialContext context{
        .failures = failures_of(report, one), .shows = row_text(report.silent, one), .logs = attempt_logs(data, one)};
    if (query.json) {
        Json json = trial_json(one, context);
        json["metrics"] = Objectives{data.study}.json();
        json["log"] = log_json(query.logs, log);
        print(json);
        return;
    }
    const Page page = Page::standard_output();
    print_head(page, data, one, running_doubt(report.silent, one));
    for (std::size_t i = 0; i < one.attempts.size(); ++i) print_attempt(page, one, one.attempts[i], context, context.logs[i]);
    for (const TrialFailure& entry : context.failures) {
        if (!entry.failed->attempt) print_failure(page, entry);
    }
    if (!context.shows.empty()) page.paragraph("    shows      " + context.shows + ".", 15);
    print_attributes(page, one);
    print_log_match(page, query.logs, log);
}

}  // namespace

void add_trial(tools::CommandLine& line, Query& query) {
    auto* command = line.add("trial", "all that is known of one trial");
    auto number = std::make_shared<std::int64_t>(-1);
    command->add_option("NUMBER", *number, "the trial's number within its study")->required()->check(tools::at_least(0));
    add_log_option(command, query);
    line.on(command, [&query, number] {
        trial(query, *number);
        return 0;
    });
}

}  // namespace hpo::analyze
