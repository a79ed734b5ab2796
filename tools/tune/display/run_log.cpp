// SPDX-License-Identifier: MIT
#include "tune/display/run_log.hpp"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <variant>

#include "hpo/analysis/failure_cases/failure_name.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/base/cases.hpp"
#include "hpo/base/time.hpp"
#include "hpo/core/memory_leak.hpp"
#include "hpo/failure/failure_line.hpp"
#include "hpo/failure/signature.hpp"
#include "hpo/failure/traits.hpp"
#include "hpo/store/sqlite/attempt_rows.hpp"
#include "hpo/store/store.hpp"
#include "support/counts_text.hpp"
#include "tune/display/event_text.hpp"
#include "tune/display/text.hpp"

namespace hpo::tune {
namespace {

/// "2026-11-26T03:00:59Z".
std::string iso_time(Time time) {
    const std::time_t seconds = microseconds_since_epoch(time) / 1'000'000;
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    std::string text(32, '\0');
    text.resize(std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts));
    return text;
}

std::string name_of(const Trial& trial) { return "trial " + std::to_string(trial.number); }

/// "predicted 12.25 MiB (dry_run) of 24.00 MiB".
std::string prediction_of(const Attempt& attempt) {
    std::string text = "memory: ";
    if (attempt.estimate && attempt.estimate->need)
        text += "predicted " + format_bytes(*attempt.estimate->need) + " (" + attempt.estimate->source + ")";
    else text += "not predicted";
    return attempt.capacity_bytes ? text + ", of " + format_bytes(*attempt.capacity_bytes) : text;
}

/// The last lines of a longer text.
std::vector<std::string> last_lines(const std::string& text, std::size_t most) {
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        if (end > begin) lines.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    if (lines.size() > most) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(most));
    return lines;
}

/// "out_of_memory (cause capacity; blame own; signature ...): what was said", figures, and what the worker wrote last.
std::vector<std::string> failure_lines(const Failure& failure) {
    std::vector<std::string> lines;
    std::string head = "failure: " + std::string{analysis::failure_name(failure)} + " (";
    if (failure.cause) head += "cause " + std::string{to_text(*failure.cause)} + "; ";
    head += "blame " + std::string{to_text(traits_of(failure).blame)};
    if (!failure.where.empty()) head += "; in " + failure.where;
    if (failure.signal) head += "; signal " + std::to_string(*failure.signal);
    if (failure.exit_status) head += "; exit status " + std::to_string(*failure.exit_status);
    lines.push_back(head + "): " + failure_line(failure));
    if (failure.requested_bytes) {
        lines.push_back("  refused: " + format_bytes(*failure.requested_bytes) +
                        (failure.memory.allocated ? ", with " + format_bytes(*failure.memory.allocated) + " in use" : ""));
    }
    if (!failure.evidence.empty()) lines.push_back("  evidence: " + failure.evidence);
    lines.push_back("  signature: " + signature(failure));
    constexpr std::size_t most_lines = 10;
    for (const std::string& line : last_lines(failure.traceback, most_lines)) lines.push_back("  | " + line);
    return lines;
}

}  // namespace

void RunLog::write(const std::string& subject, const std::vector<std::string>& lines) {
    const std::string prefix = iso_time(now()) + " [" + std::to_string(::getpid()) + "] " + subject + ": ";
    std::string text;
    for (const std::string& line : lines) text += tools::on_one_line(prefix + line) + "\n";
    if (file_.append(text) || has_failed_) return;
    has_failed_ = true;
    if (settings_.failed) settings_.failed("the log cannot be written: " + file_.problem() + "; the run goes on without it");
}

void RunLog::run_begins(const std::vector<std::string>& lines) { write("run", lines); }
void RunLog::run_ends(const std::string& how) { write("run", "ends: " + tools::states_text(counts_) + "; " + how); }
void RunLog::note(const std::string& text) { write("note", text); }

void RunLog::on(const StudyEvent& event) {
    std::visit(Cases{[this](const auto& told) { record(told); }, [](const event::AttemptWaits&) {}, [](const event::Reported&) {},
                     [](const event::Idle&) {}},
               event);
}

void RunLog::record(const event::StudyOpened& event) {
    counts_ = analysis::count(event.trials);
    write("study", event.study.name + ": " + (event.trials.empty() ? "new" : tools::states_text(counts_)));
}

void RunLog::record(const event::OthersChanged& event) { counts_ = analysis::count(event.trials); }

void RunLog::record(const event::WaitsForOthers& event) {
    write("run", "waits for " + tools::counted(static_cast<std::size_t>(event.missing), "trial") + " of other processes");
}

void RunLog::record(const event::TrialGoesOn& event) { write(name_of(event.trial), goes_on_text(event.trial, event.lost)); }

void RunLog::record(const event::TrialBeginsAnew& event) {
    write(name_of(event.lost), "was interrupted, and does not go on from its checkpoint: " + event.why);
}

void RunLog::record(const event::TrialLeftAlone& event) {
    write(name_of(event.lost), "was interrupted, and is not run again: " + event.why);
}
void RunLog::record(const event::ValueLeftOut& event) { write(name_of(event.trial), event.what); }
void RunLog::record(const event::RetryNoted& event) { write(name_of(event.trial), event.what); }

void RunLog::record(const event::AttemptBegan& event) {
    const auto& [trial, attempt] = event;
    std::vector<std::string> lines;
    if (attempt.index == 0) lines.push_back("begins: " + summary_of(params_of(trial, attempt)));
    std::string head = tools::attempt_name(attempt.index) + " begins";
    if (!attempt.plan.device.empty()) head += " on " + attempt.plan.device;
    if (attempt.fresh_worker) head += " in a fresh worker";
    if (attempt.resumed_step) head += ", after the checkpoint of step " + std::to_string(*attempt.resumed_step);
    if (attempt.changed_params) head += ", with changed parameters: " + summary_of(*attempt.changed_params);
    lines.push_back(head);
    if (const std::string plan = plan_text(attempt.plan); !plan.empty()) lines.push_back("  plan: " + plan);
    lines.push_back("  " + prediction_of(attempt));
    write(name_of(trial), lines);
}

void RunLog::record(const event::MemoryMarked& event) {
    const auto& [trial, mark] = event;
    if (const std::string text = replaced_text(mark); !text.empty()) write(name_of(trial), text);
    if (mark.name == leak_mark && mark.reading.allocated)
        write(name_of(trial),
              "memory leak: " + format_bytes(*mark.reading.allocated) + " were still allocated after it; its worker is replaced");
}

void RunLog::record(const event::AttemptEnded& event) {
    const auto& [trial, attempt] = event;
    std::string head = tools::attempt_name(attempt.index) + " ended";
    if (attempt.outcome) head += ": " + std::string{to_text(*attempt.outcome)};
    if (attempt.seconds) head += " (" + duration(*attempt.seconds) + ")";
    if (attempt.peak_reserved) head += ", peak " + format_bytes(*attempt.peak_reserved);
    std::vector<std::string> lines{head};
    if (attempt.failure) {
        for (std::string& line : failure_lines(*attempt.failure)) lines.push_back("  " + std::move(line));
    }
    if (!attempt.decision.empty()) lines.push_back("  decision: " + attempt.decision);
    write(name_of(trial), lines);
}

void RunLog::record(const event::Mispredicted& event) { write(name_of(event.trial), event.how); }

void RunLog::record(const event::AttributeDropped& event) {
    if (dropped_.insert(event.dropped.name).second) write(name_of(event.trial), event.dropped.note());
}

void RunLog::record(const event::SourceGivenUp& event) { write("note", source_given_up_text(event.source, event.family)); }

void RunLog::record(const event::DeviceLeftOut& event) { write("device", device_left_out_text(event.device, event.seconds, event.latest)); }

void RunLog::record(const event::AllWait& event) { write("run", all_wait_text(event.trials, event.seconds)); }

void RunLog::record(const event::TrialReplayed& event) {
    write(name_of(event.trial), "once more, with kernel launches that block: " + event.told);
}

void RunLog::record(const event::TrialFinished& event) {
    const Trial& trial = event.trial;
    counts_.add(trial);
    std::string text = counts_as_done(trial) ? "ended: " + std::string{to_text(trial.state)} : "interrupted; it does not count";
    for (std::size_t i = 0; i < trial.values.size(); ++i) {
        const std::string metric = i < settings_.metrics.size() ? settings_.metrics[i] : "value " + std::to_string(i + 1);
        text += ", " + metric + " " + metric_value_text(metric, trial.values[i]);
    }
    if (!trial.feasible()) text += ", infeasible";
    if (trial.attempts.size() > 1) text += " (" + tools::counted(trial.attempts.size(), "attempt") + ")";
    write(name_of(trial), text);
}

void RunLog::record(const event::ConfigurationRejected& event) { write("proposal", rejected_text(event.rejection)); }

}  // namespace hpo::tune
