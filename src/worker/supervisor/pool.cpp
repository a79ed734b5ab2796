// SPDX-License-Identifier: MIT
#include "hpo/worker/supervisor/pool.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/base/process_identity.hpp"
#include "hpo/core/device_word.hpp"
#include "hpo/worker/supervisor/attempt_end.hpp"
#include "hpo/worker/supervisor/metered_account.hpp"
#include "hpo/worker/supervisor/oom_killer.hpp"

namespace hpo::worker {

Pool::Pool(PoolConfig config)
    : config_{std::move(config)},
      slots_(std::max<std::size_t>(config_.workers, 1)),
      xids_{config_.xids ? config_.xids : xids_of_card(config_)} {
    if (config_.device_budget_bytes && is_cpu(config_.device)) {
        metered_.emplace(make_metered_device(config_.account_folder, *config_.device_budget_bytes));
    }
    slots_[0].worker = start_worker(environment_of(ExecutionPlan{.device = config_.device}), 0);
    slots_[0].environment = environment_of(ExecutionPlan{.device = config_.device});
    loop_->run_until(2 * config_.start_timeout, [&] { return info_.has_value() || !slots_[0].worker; });
    if (info_) return;
    dismiss_all();
    throw cannot_start(config_.trainer, latest_death_);
}

void Pool::submit(const Job& job, ExecutorEvents& events) {
    Environment environment = environment_of(job.plan);
    if (job.blocks_launches) set_variable(environment, "CUDA_LAUNCH_BLOCKING", "1");
    WorkerSlot* const chosen = choose_slot(slots_, job, environment);
    if (!chosen) throw Error{Errc::usage, "pool: no free slot for trial " + std::to_string(job.trial)};
    WorkerSlot& slot = *chosen;
    for (WorkerSlot& other : slots_) {  // an idle worker holds a GPU context that no attempt's prediction counts
        if (!is_cpu(config_.device) && &other != &slot && other.idle()) dismiss(other);
    }
    try {
        if (slot.worker && (job.fresh_worker || slot.leaving || slot.environment != environment)) dismiss(slot);
        await_release();
        if (!slot.worker) slot.worker = start_worker(environment, static_cast<std::size_t>(&slot - slots_.data()));
    } catch (const Error& error) {
        AttemptOutcome outcome;
        outcome.failure = Failure{.kind = FailureKind::lost_worker, .message = error.what()};
        events.on(job.trial, std::move(outcome));
        return;
    }
    slot.environment = std::move(environment);
    slot.last_trial = job.trial;
    ++slot.attempts;
    xids_.look(running_attempts());
    slot.running =
        Running{.trial = job.trial, .oom_kills_before = oom_kills(), .xids_before = xids_.now(), .most_seconds = job.most_seconds};
    slot.running->began = slot.running->heard = loop_->now();
    slot.running->prunes_itself = job.prunes_itself;
    slot.worker->log().begin_attempt();
    slot.worker->send(Ask{{job.saved_model.empty() ? TrainerQuestion::run : TrainerQuestion::evaluate, trainer_job(job)}});
}

void Pool::wait(ExecutorEvents& events, double timeout_seconds) {
    const auto excuse_since = [this](Moment expected) {
        looked_ = loop_->now();
        excuse_pause(slots_, looked_ - expected, looked_);
    };
    loop_->poll();
    excuse_since(looked_);
    if (deliver(events)) return;
    end_overdue();
    dismiss_leaving();
    const std::chrono::duration<double> timeout{timeout_seconds};
    const Moment at_latest = loop_->now() + std::chrono::ceil<Moment::duration>(timeout);
    loop_->run_until(timeout, [&] { return loop_->undelivered > 0; });
    excuse_since(at_latest);  // this process may have been stopped meanwhile
    deliver(events);
}

void Pool::interrupt() {
    for (WorkerSlot& slot : slots_) {
        if (!slot.running) continue;
        slot.running->interrupted = true;
        ask_to_stop(slot);
    }
}

MemoryQuestions::Told Pool::trace(const ParamSet& params, const ExecutionPlan& plan, const std::filesystem::path& file) {
    TrainerJob job = unlimited_job(params, plan);
    job.trace_file = std::filesystem::absolute(file).string();
    return questions_.predict(job, PeakSource::dry_run, Asker{*this});
}

CheckAnswer Pool::check(const ParamSet& params, const ExecutionPlan& plan, std::optional<std::chrono::milliseconds> timeout) {
    Reply reply = ask(Ask{{TrainerQuestion::check, trainer_job(Job{.params = params, .plan = plan})}, config_.question_memory_bytes},
                      timeout.value_or(config_.check_timeout));
    if (timeout && reply.late) return {.in_time = false};
    if (!reply.answer) throw Error{Errc::plugin, "trainer " + config_.trainer + ": check: " + reply.silence};
    if (reply.answer->no_memory) return {.no_memory = true};
    if (reply.answer->error) throw Error{Errc::plugin, *reply.answer->error};  // it says whose it is
    return {
        .problems = std::move(reply.answer->problems), .remarks = std::move(reply.answer->remarks), .held_bytes = reply.answer->held_bytes};
}

std::vector<DeviceFinding> Pool::measure() {
    Reply reply =
        ask(Ask{{TrainerQuestion::measure, trainer_job(Job{.params = {}, .plan = {.device = config_.device}})}}, config_.check_timeout);
    if (reply.answer && !reply.answer->error) return std::move(reply.answer->findings);
    throw Error{Errc::plugin, reply.answer ? *reply.answer->error : "trainer " + config_.trainer + ": measure: " + reply.silence};
}

std::shared_ptr<RemoteWorker> Pool::start_worker(Environment environment, std::size_t number) {
    const auto log =
        config_.log_folder.empty() ? std::filesystem::path{} : config_.log_folder / ("worker-" + std::to_string(number) + ".log");
    auto worker = RemoteWorker::start(*loop_, *this, worker_process(config_, std::move(environment)), log);
    worker->expect(config_.start_timeout, "trainer " + config_.trainer + ": no word from its worker within " +
                                              seconds_text(config_.start_timeout) +
                                              " of its start: the plugin's library, constructor or info() takes longer or hangs");
    return worker;
}

TrainerJob Pool::trainer_job(const Job& job) const {
    TrainerJob result = worker::trainer_job(config_, *info_, job);
    if (metered_ && is_cpu(job.plan.device)) result.metered_device = metered_->file().string();
    return result;
}

TrainerJob Pool::unlimited_job(const ParamSet& params, const ExecutionPlan& plan) const {
    TrainerJob job = worker::trainer_job(config_, *info_, Job{.params = params, .plan = plan});
    job.plan.cap_bytes.reset();
    return job;
}

void Pool::dismiss(WorkerSlot& slot) {
    gone_.push_back(slot.worker->pid());
    slot.worker->dismiss();
    slot.worker.reset();
    slot.attempts = 0;
    slot.leaving = false;
    if (metered_) metered_->reclaim_dead();
}

void Pool::await_release() {
    const std::vector<std::int64_t> gone = std::exchange(gone_, {});
    if (is_cpu(config_.device) || gone.empty()) return;
    loop_->run_until(config_.release_timeout, [&] {
        const auto card = card_occupancy(config_);
        return !card ||
               std::ranges::none_of(card->processes, [&](const auto& each) { return std::ranges::find(gone, each.pid) != gone.end(); });
    });
}

void Pool::dismiss_leaving() {
    for (WorkerSlot& slot : slots_) {
        if (slot.worker && slot.leaving && !slot.running) dismiss(slot);
    }
}

void Pool::dismiss_all() {
    for (WorkerSlot& slot : slots_) {
        if (slot.worker) dismiss(slot);
    }
    for (std::shared_ptr<RemoteWorker>* const kept : {&question_worker_, &card_worker_}) {
        if (*kept) std::exchange(*kept, nullptr)->dismiss();
    }
}

std::shared_ptr<RemoteWorker> Pool::idle_worker() {
    for (WorkerSlot& slot : slots_) {
        if (slot.idle()) return slot.worker;
    }
    if (!question_worker_) question_worker_ = start_worker(environment_of(ExecutionPlan{.device = config_.device}), slots_.size());
    return question_worker_;
}

std::shared_ptr<RemoteWorker> Pool::worker_for(const TrainerRequest& question) {
    if (question.question != TrainerQuestion::predict || question.source != PeakSource::virtual_card) return idle_worker();
    if (!card_worker_) {
        const ExecutionPlan plan{.device = device_inside(config_.device)};
        card_worker_ = start_worker(worker_environment(config_.virtual_card->environment, plan, config_.threads), slots_.size() + 1);
    }
    return card_worker_;
}

void Pool::ask_to_stop(WorkerSlot& slot) {
    if (std::exchange(slot.running->stop_asked, true)) return;
    slot.worker->send(Stop{});
    slot.worker->hurry({config_.stop_grace, config_.kill_grace});
}

void Pool::end_overdue() {
    const Moment now = loop_->now();
    const auto is_over = [](Moment::duration time, const std::optional<std::chrono::milliseconds>& most) { return most && time > *most; };
    for (WorkerSlot& slot : slots_) {
        if (!slot.running || !slot.worker || !slot.running->overdue.empty()) continue;
        Running& running = *slot.running;
        auto most = config_.attempt_time;
        if (running.most_seconds) {
            const std::chrono::milliseconds own{static_cast<std::int64_t>(*running.most_seconds * 1000)};
            most = most ? std::min(*most, own) : own;
        }
        if (is_over(now - running.heard - running.excused_silence, config_.silence_time)) {
            running.overdue = "its worker said nothing for " + seconds_text(*config_.silence_time);
            constexpr char stopped = 'T';
            if (const auto process = process_state(slot.worker->pid()); process && process->state == stopped)
                running.overdue += "; a signal had stopped it";
            slot.worker->end(running.overdue);  // who does not speak does not listen either
        } else if (is_over(now - running.began - running.excused_time, most)) {
            running.overdue = "it took longer than the " + seconds_text(*most) + " that an attempt may take";
            ask_to_stop(slot);
        }
    }
}

bool Pool::let_go(const std::shared_ptr<RemoteWorker>& worker) {
    if (WorkerSlot* slot = slot_of(slots_, *worker)) dismiss(*slot);
    else if (worker == question_worker_) std::exchange(question_worker_, nullptr)->dismiss();
    else if (worker == card_worker_) std::exchange(card_worker_, nullptr)->dismiss();
    else return false;
    return true;
}

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
    } else if (auto* happened = std::get_if<Happened>(&event)) {
        on_happened(worker, std::move(*happened));
    }
}

void Pool::on_happened(RemoteWorker& worker, Happened happened) {
    if (const auto* recall = std::get_if<Recall>(&happened.event))
        return worker.send(Answer{{.text = questions_.recalled(recall->key)}, happened.id});
    if (const auto* kept = std::get_if<Kept>(&happened.event)) return questions_.keep(kept->key, kept->text);
    WorkerSlot* const slot = slot_of(slots_, worker);
    if (!slot || !slot->running) return;
    // Another program's memory is seen from outside, whether or not it says anything.
    if (!(info_ && info_->open_ended && std::holds_alternative<MemoryMark>(happened.event))) {
        slot->running->heard = loop_->now();
        slot->running->excused_silence = {};
    }
    if (auto* outcome = std::get_if<AttemptOutcome>(&happened.event)) return on_ended(*slot, std::move(*outcome), happened.leaving);
    if (auto* started = std::get_if<AttemptStarted>(&happened.event)) started->worker_pid = worker.pid();
    else if (std::holds_alternative<Alive>(happened.event)) return;
    tell_later({slot->running->trial, std::move(happened.event), happened.id});
}

void Pool::on_ended(WorkerSlot& slot, AttemptOutcome told, bool leaving) {
    const std::size_t attempts = running_attempts();
    const Running running = *std::exchange(slot.running, std::nullopt);
    slot.ended = true;
    slot.worker->calm();
    const bool spent = config_.worker_attempts > 0 && slot.attempts >= config_.worker_attempts;
    slot.leaving = leaving || spent || slot.worker->was_signalled();  // a signal that was sent before the end will still kill it
    AttemptOutcome outcome = checked_outcome(running, std::move(told));
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
    death.seconds = seconds_between(running->began, loop_->now());
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
        --loop_->undelivered;
        if (std::holds_alternative<AttemptOutcome>(worker_event.what)) {
            for (WorkerSlot& slot : slots_) slot.ended = slot.ended && slot.last_trial != worker_event.trial;
        }
        const bool waits = awaits_answer(worker_event.what);
        EventAnswer answer = events.on(worker_event.trial, std::move(worker_event.what));
        if (waits) reply(worker_event, std::move(answer));
    }
    return true;
}

void Pool::reply(const WorkerEvent& event, EventAnswer answer) {
    for (WorkerSlot& slot : slots_) {
        if (!slot.running || slot.running->trial != event.trial || slot.running->stop_asked) continue;
        if (!answer.goes_on && !slot.running->prunes_itself) ask_to_stop(slot);
        else slot.worker->send(Answer{answer, event.id});
    }
}

}  // namespace hpo::worker
