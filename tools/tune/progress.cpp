// SPDX-License-Identifier: MIT
#include "progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "hpo/analysis/failure_name.hpp"
#include "hpo/core/bytes.hpp"
#include "hpo/core/memory_leak.hpp"
#include "text.hpp"

namespace hpo::tune {
namespace {

std::size_t terminal_width(std::FILE* out) {
    winsize size{};
    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return 80;
}

/// The parameters in the order of the script, as many as a line takes.
std::string summary_of(const Trial& trial) {
    std::string text;
    for (const Param& param : trial.params) text += (text.empty() ? "" : " ") + param.name + "=" + display_text(param.value());
    return text;
}

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

std::string reason_of(const Trial& trial) {
    if (trial.attempts.empty() || !trial.attempts.back().failure) {
        const auto reason = trial.user_attributes.find("error_message");
        return reason == trial.user_attributes.end() ? std::string{} : unquoted(reason->second);
    }
    const Failure& failure = *trial.attempts.back().failure;
    const std::string first_line = failure.message.substr(0, failure.message.find('\n'));
    return std::string{analysis::failure_name(failure)} + ": " + first_line;
}

/// What the device's ledger says, as one line.
std::string ledger_line(const Progress::Settings& settings, std::int64_t capacity_bytes) {
    std::int64_t bytes = 0;
    std::size_t promised = 0;
    std::size_t waiting = 0;
    std::size_t others = 0;  // of other runs
    for (const device::LedgerEntry& entry : settings.ledger()) {
        ++(entry.granted ? promised : waiting);
        if (entry.granted) bytes += entry.bytes;
        if (entry.pid != ::getpid()) ++others;
    }
    std::string text = settings.device + " ledger " + bar(static_cast<double>(bytes) / static_cast<double>(capacity_bytes), 20) + " " +
                       format_bytes(bytes) + " promised to " + tools::counted(promised, "attempt");
    if (waiting > 0) text += ", " + std::to_string(waiting) + " waiting for room";
    if (others > 0) text += " (" + std::to_string(others) + " of other runs)";
    return text;
}

}  // namespace

void Progress::study_opened(const Study& study, const std::vector<Trial>& trials) {
    study_ = study;
    for (const Trial& trial : trials) count(trial);
    if (trials.empty()) line("study " + study.name + ": new, " + std::to_string(settings_.trials) + " trials");
    else
        line("study " + study.name + ": going on with " + tools::counted(trials.size(), "trial") + ", to " +
             std::to_string(settings_.trials));
}

void Progress::count(const Trial& trial) {
    counts_.add(trial);
    if (study_.directions.size() != 1) return;
    if (const Trial* best = best_trial({&trial, 1}, study_.directions[0]);
        best && (!best_ || better(study_.directions[0], best->values[0], *best_))) {
        best_ = best->values[0];
        best_trial_ = best->number;
    }
}

void Progress::others_changed(const std::vector<Trial>& trials) {
    counts_ = {};
    for (const Trial& trial : trials) count(trial);
    idle();
}

void Progress::waiting_for_others(std::int64_t missing) {
    line("waiting for " + std::to_string(missing) + (missing == 1 ? " trial" : " trials") + " that another process runs");
}

void Progress::goes_on(const Trial& trial, const Trial& lost) {
    const std::string which = "trial " + std::to_string(lost.number);
    line("trial " + std::to_string(trial.number) + ": " +
         (trial.intermediate.empty()
              ? "runs " + which + " again, which was interrupted"
              : "goes on with " + which + ", which was interrupted, after step " + std::to_string(trial.intermediate.rbegin()->first)));
}

void Progress::begins_anew(const Trial& lost, const std::string& why) {
    note("trial " + std::to_string(lost.number) + ", which was interrupted, does not go on from its checkpoint: " + why);
}

void Progress::left_alone(const Trial& lost, const std::string& why) {
    note("trial " + std::to_string(lost.number) + ", which was interrupted, is not run again: " + why);
}

void Progress::left_out(const Trial& trial, const std::string& what) { note("trial " + std::to_string(trial.number) + ": " + what); }

void Progress::attempt_started(const Trial& trial, const Attempt& attempt) {
    Running& running = running_[trial.number];
    running = {};
    running.what = plan_of(attempt.plan) + (attempt.index > 0 ? " (attempt " + std::to_string(attempt.index + 1) + ")" : "") + "  " +
                   summary_of(trial);
    if (settings_.style == ProgressStyle::plain && attempt.index == 0) {
        const std::string pieces = attempt.plan.accumulation_steps() > 1 ? "; " + plan_of(attempt.plan) : "";
        line("trial " + std::to_string(trial.number) + ": " + summary_of(trial) + pieces);
    }
    idle();
}

void Progress::reported(const Trial& trial, const Report& report) {
    running_[trial.number].latest = report;
    idle();
}

void Progress::memory_marked(const Trial& trial, const MemoryMark& mark) {
    if (mark.name == leak_mark && mark.reading.allocated) {
        line("trial " + std::to_string(trial.number) + ": memory leak, " + format_bytes(*mark.reading.allocated) +
             " were still allocated after it; its worker is replaced");
        return;
    }
    if (mark.name == host_growth_mark && mark.reading.allocated) {
        note("trial " + std::to_string(trial.number) + ": the host memory of its worker has grown by " +
             format_bytes(*mark.reading.allocated) + " over its latest attempts; the worker is replaced");
        return;
    }
    Running& running = running_[trial.number];
    if (mark.reading.allocated) running.allocated = mark.reading.allocated;
    if (!trial.attempts.empty()) running.worker_pid = trial.attempts.back().worker_pid;
    if (mark.reading.capacity && !settings_.capacity_bytes) settings_.capacity_bytes = mark.reading.capacity;
}

void Progress::attempt_ended(const Trial& trial, const Attempt& attempt) {
    if (!attempt.failure) return;
    std::string text = "trial " + std::to_string(trial.number) + ": ";
    if (is_memory(attempt.failure->kind)) {
        text += attempt.decision.empty() ? "out of memory" : attempt.decision;
        if (attempt.failure->requested_bytes) text += " (" + format_bytes(*attempt.failure->requested_bytes) + " refused";
        if (attempt.failure->requested_bytes && attempt.failure->memory.allocated)
            text += " with " + format_bytes(*attempt.failure->memory.allocated) + " in use";
        if (attempt.failure->requested_bytes) text += attempt.failure->where.empty() ? ")" : " in " + attempt.failure->where + ")";
    } else {
        text += std::string{analysis::failure_name(*attempt.failure)} + ": " +
                attempt.failure->message.substr(0, attempt.failure->message.find('\n'));
    }
    line(text);
}

void Progress::trial_finished(const Trial& trial) {
    if (settings_.trial_finished) settings_.trial_finished(trial);
    running_.erase(trial.number);
    const auto best_before = best_trial_;
    count(trial);
    ++finished_here_;
    double seconds = 0;
    for (const Attempt& attempt : trial.attempts) seconds += attempt.seconds.value_or(0);
    std::string text = "trial " + std::to_string(trial.number) + ": ";
    if (!counts_as_done(trial)) {
        line(text + "interrupted");
        return;
    }
    if (trial.state == TrialState::complete) {
        text += "complete, " + settings_.metric;
        for (const double value : trial.values) text += " " + number(value);
        if (best_trial_ != best_before) text += ", the best so far";
    } else if (trial.state == TrialState::pruned) {
        text += (trial.feasible() ? "pruned" : "pruned, infeasible");
        const auto reason = trial.user_attributes.find("prune_reason");
        if (reason != trial.user_attributes.end()) text += ": " + unquoted(reason->second);
    } else {
        text += "failed, " + reason_of(trial);
    }
    text += " (" + duration(seconds) + (trial.attempts.size() > 1 ? ", " + std::to_string(trial.attempts.size()) + " attempts" : "") + ")";
    // On a terminal the counts show ordinary ends; only the notable scroll by.
    if (settings_.style == ProgressStyle::plain || best_trial_ != best_before || trial.state == TrialState::fail ||
        trial.attempts.size() > 1)
        line(text);
    idle();
}

void Progress::rejected(const Rejection& rejection) {
    ++rejected_;
    if (settings_.style == ProgressStyle::plain) line("refused before launch: " + rejection.reason);
}

void Progress::mispredicted(const Trial& trial, const std::string& how) {
    note("trial " + std::to_string(trial.number) + ": " + how + "; hpo-analyze oom tells how good the other predictions were");
}

void Progress::attribute_dropped(const Trial& trial, const DroppedAttribute& dropped) {
    if (dropped_.insert(dropped.name).second) note("trial " + std::to_string(trial.number) + ": " + dropped.note());
}

void Progress::source_given_up(const std::string& source, const std::string& family) {
    note(source + " predicted too little for half of the trials of '" + family + "' or more: it is not asked about them any more");
}

void Progress::note(const std::string& text) {
    erase_block();
    std::fprintf(settings_.out, "hpo-tune: note: %s\n", text.c_str());
    if (settings_.style == ProgressStyle::bar) draw_block();
    std::fflush(settings_.out);
}

void Progress::line(const std::string& text) {
    if (settings_.style == ProgressStyle::none) return;
    erase_block();
    std::fprintf(settings_.out, "%s\n", text.c_str());
    if (settings_.style == ProgressStyle::bar) draw_block();
    std::fflush(settings_.out);
}

void Progress::idle() {
    if (settings_.style != ProgressStyle::bar) return;
    const auto moment = std::chrono::steady_clock::now();
    if (moment - drawn_ < std::chrono::milliseconds{100}) return;
    erase_block();
    draw_block();
    std::fflush(settings_.out);
}

void Progress::finish() {
    if (settings_.style != ProgressStyle::bar) return;
    erase_block();
    std::fflush(settings_.out);
}

void Progress::erase_block() {
    if (block_lines_ > 0) std::fprintf(settings_.out, "\x1b[%dA\x1b[J", block_lines_);
    block_lines_ = 0;
}

void Progress::draw_block() {
    drawn_ = std::chrono::steady_clock::now();
    const std::size_t width = terminal_width(settings_.out) - 1;
    const auto put = [&](const std::string& text) {
        std::fprintf(settings_.out, "%s\n", clipped(text, width).c_str());
        ++block_lines_;
    };
    const auto done = static_cast<std::int64_t>(counts_.ended());
    const double share = settings_.trials > 0 ? static_cast<double>(done) / static_cast<double>(settings_.trials) : 0;
    const double seconds = std::chrono::duration<double>(drawn_ - begin_).count();
    std::string head = study_.name + "  " + std::to_string(done) + "/" + std::to_string(settings_.trials) + " " + bar(share, 20);
    if (best_) head += "  best " + settings_.metric + " " + number(*best_) + " (trial " + std::to_string(best_trial_) + ")";
    if (finished_here_ > 0 && seconds > 0) {
        const double rate = static_cast<double>(finished_here_) / seconds;
        head += "  " + number(std::round(rate * 600) / 10) + "/min  left " +
                duration(static_cast<double>(std::max<std::int64_t>(0, settings_.trials - done)) / rate);
    }
    put(head);
    std::string counts = "complete " + std::to_string(counts_.complete) + "  pruned " + std::to_string(counts_.pruned) + "  failed " +
                         std::to_string(counts_.failed) + "  of them infeasible " + std::to_string(counts_.infeasible) +
                         "  out of memory " + std::to_string(counts_.oom_attempts) + " (" + std::to_string(counts_.recovered_trials) +
                         " trials recovered)";
    if (rejected_ > 0) counts += "  refused before launch " + std::to_string(rejected_);
    put(counts);
    const auto occupancy = settings_.occupancy ? settings_.occupancy() : std::nullopt;
    std::int64_t held = 0;
    for (auto& [trial, running] : running_) {
        if (occupancy) {
            running.allocated = 0;
            for (const MemoryNeighbour& process : occupancy->processes) {
                if (process.pid == running.worker_pid) running.allocated = process.bytes;
            }
        }
        std::string text = "  trial " + std::to_string(trial);
        if (running.latest) text += "  step " + std::to_string(running.latest->step) + ": " + number(running.latest->value);
        if (running.allocated) text += "  " + format_bytes(*running.allocated);
        put(text + "  " + running.what);
        held += running.allocated.value_or(0);
    }
    if (occupancy) held = occupancy->used_bytes;
    if (settings_.capacity_bytes && *settings_.capacity_bytes > 0) {
        const double used = static_cast<double>(held) / static_cast<double>(*settings_.capacity_bytes);
        put(settings_.device + " memory " + bar(used, 20) + " " + format_bytes(held) + " of " + format_bytes(*settings_.capacity_bytes));
        if (settings_.ledger) put(ledger_line(settings_, *settings_.capacity_bytes));
    }
}

}  // namespace hpo::tune
