// SPDX-License-Identifier: MIT

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hpo/worker/supervisor/attempt_end.hpp"
#include "hpo/worker/supervisor/oom_killer.hpp"
#include "hpo/worker/supervisor/pool.hpp"

namespace hpo::worker::inline supervisor {

void Pool::on_event(RemoteWorker& worker, Event event) {
    if (const auto* ready = std::get_if<Ready>(&event)) {
        worker.heard();
        if (ready->protocol != protocol_version) {
            worker.end(config_.worker_program.string() + ": speaks protocol " + std::to_string(ready->protocol) + "; this program speaks " +
                       std::to_string(protocol_version));
        } else if (!info_) {
            info_ = ready->info;
            questions_.meet(ready->info, ready->build);
        }
    } else if (auto* answered = std::get_if<Answered>(&event)) {
        if (answered->id == question_) answer_ = std::move(*answered);
    } else if (const auto* recall = std::get_if<Recall>(&event)) {
        worker.send(Recalled{recall->key, questions_.recalled(recall->key)});
    } else if (const auto* kept = std::get_if<Keep>(&event)) {
        questions_.keep(kept->key, kept->text);
    } else if (WorkerSlot* slot = slot_of(slots_, worker); slot && slot->running) {
        // Another program's memory is seen from outside, whether or not it says anything.
        if (!(info_ && info_->open_ended && std::holds_alternative<Measured>(event))) {
            slot->running->heard = Stopwatch{};
            slot->running->excused_silence = 0;
        }
        if (auto worker_event = worker_event_of(slot->running->trial, worker.pid(), event)) tell_later(*std::move(worker_event));
        else if (auto* ended = std::get_if<Ended>(&event)) on_ended(*slot, std::move(*ended));
    }
}

void Pool::on_ended(WorkerSlot& slot, Ended ended) {
    const std::size_t attempts = running_attempts();
    const Running running = *std::exchange(slot.running, std::nullopt);
    slot.ended = true;
    slot.worker->calm();
    const bool spent = config_.worker_attempts > 0 && slot.attempts >= config_.worker_attempts;
    slot.leaving = ended.leaving || spent || slot.worker->was_signalled();  // a signal that was sent before the end will still kill it
    AttemptOutcome outcome = checked_outcome(running, std::move(ended.outcome));
    if (outcome.failure && outcome.failure->traceback.empty()) outcome.failure->traceback = slot.worker->log().tail();
    add_xids(outcome, running, attempts);
    outcome.log = slot.worker->log().attempt_text();
    tell_later({running.trial, std::move(outcome)});
}

void Pool::on_gone(RemoteWorker& worker, const ProcessExit& exit) {
    if (metered_) metered_->reclaim_dead();
    gone_.push_back(worker.pid());
    WorkerSlot* slot = slot_of(slots_, worker);
    Death death{.exit = exit, .complaint = worker.complaint(), .last_words = worker.log().tail(), .was_signalled = worker.was_signalled()};
    latest_death_ = explain_death(death);
    if (!slot) return (&worker == card_worker_.get() ? card_worker_ : question_worker_).reset();
    const std::size_t attempts = running_attempts();
    const auto kept = std::exchange(slot->worker, nullptr);
    const auto running = std::exchange(slot->running, std::nullopt);
    slot->leaving = false;
    slot->attempts = 0;
    if (!running) return;
    slot->ended = true;
    death.host_memory_was_short = oom_killed_since(running->oom_kills_before);
    AttemptOutcome outcome = outcome_of_death(*running, death);
    add_xids(outcome, *running, attempts);
    outcome.worker_pid = worker.pid();
    outcome.log = worker.log().attempt_text();
    tell_later({running->trial, std::move(outcome)});
}

std::size_t Pool::running_attempts() const {
    const auto own =
        static_cast<std::size_t>(std::ranges::count_if(slots_, [](const WorkerSlot& slot) { return slot.running.has_value(); }));
    const auto owners = config_.ledger_owners ? config_.ledger_owners() : std::vector<std::int64_t>{};
    const bool has_others = std::ranges::any_of(owners, [](std::int64_t pid) { return pid != ::getpid(); });
    return own + (has_others ? 1 : 0);  // at least
}

void Pool::add_xids(AttemptOutcome& outcome, const Running& running, std::size_t attempts) {
    xids_.look(attempts, outcome.failure.has_value());
    if (outcome.failure) xids_.explain(*outcome.failure, running.xids_before);
}

bool Pool::deliver(ExecutorEvents& events) {
    if (happened_.empty()) return false;
    while (!happened_.empty()) {
        WorkerEvent worker_event = std::move(happened_.front());
        happened_.pop_front();
        --shared_loop_->undelivered;
        if (std::holds_alternative<AttemptOutcome>(worker_event.what)) {
            for (WorkerSlot& slot : slots_) slot.ended = slot.ended && slot.last_trial != worker_event.trial;
        }
        if (const auto* report = std::get_if<Report>(&worker_event.what)) judge(events, worker_event.trial, *report);
        else if (const auto* asked = std::get_if<Asked>(&worker_event.what)) suggest(events, worker_event.trial, *asked);
        else tell(events, worker_event);
    }
    return true;
}

void Pool::judge(ExecutorEvents& events, std::int64_t trial, const Report& report) {
    const bool stop = events.on_report(trial, report);
    for (WorkerSlot& slot : slots_) {
        if (!slot.running || slot.running->trial != trial || slot.running->stop_asked) continue;
        if (stop && !slot.running->prunes_itself) ask_to_stop(slot);
        else slot.worker->send(GoOn{.prune = stop});
    }
}

void Pool::suggest(ExecutorEvents& events, std::int64_t trial, const Asked& asked) {
    const Suggestion suggestion = events.on_suggest(trial, asked.name, asked.distribution);
    for (WorkerSlot& slot : slots_) {
        if (slot.running && slot.running->trial == trial && !slot.running->stop_asked) slot.worker->send(Suggested{suggestion});
    }
}

}  // namespace hpo::worker::supervisor
