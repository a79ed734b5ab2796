// SPDX-License-Identifier: MIT
#pragma once

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

#include "hpo/core/error.hpp"
#include "hpo/core/inline.hpp"
#include "hpo/worker/attempt_end.hpp"
#include "hpo/worker/metered_account.hpp"
#include "hpo/worker/oom_killer.hpp"
#include "hpo/worker/pool.hpp"

namespace hpo::worker {

HPO_INLINE Pool::Pool(PoolConfig config) : config_{std::move(config)}, seats_(std::max<std::size_t>(config_.workers, 1)) {
    if (config_.device_budget_bytes && config_.device == "cpu") {
        metered_.emplace(make_metered_device(config_.account_folder, *config_.device_budget_bytes));
    }
    seats_[0].worker = start_worker(ExecutionPlan{.device = config_.device}, 0);
    seats_[0].environment = environment_of(ExecutionPlan{.device = config_.device});
    run_until(loop_, 2 * config_.start_timeout, [&] { return info_.has_value() || !seats_[0].worker; });
    if (info_) return;
    dismiss_all();
    throw cannot_start(config_.trainer, latest_death_);
}

HPO_INLINE void Pool::submit(const Job& job, ExecutorEvents& events) {
    Environment environment = environment_of(job.plan);
    Seat* const chosen = choose_seat(seats_, job, environment);
    if (!chosen) throw Error{Errc::usage, "pool: no free slot for trial " + std::to_string(job.trial)};
    Seat& seat = *chosen;
    for (Seat& other : seats_) {  // an idle worker holds a context of a GPU, which no attempt's need speaks for
        if (config_.device != "cpu" && &other != &seat && other.idle()) dismiss(other);
    }
    try {
        if (seat.worker && (job.fresh_worker || seat.leaving || seat.environment != environment)) dismiss(seat);
        if (!seat.worker) seat.worker = start_worker(job.plan, static_cast<std::size_t>(&seat - seats_.data()));
    } catch (const Error& error) {
        AttemptOutcome outcome;
        outcome.failure = Failure{.kind = FailureKind::lost_worker, .message = error.what()};
        events.on_end(job.trial, std::move(outcome));
        return;
    }
    seat.environment = std::move(environment);
    seat.last_trial = job.trial;
    seat.running = Running{.trial = job.trial, .oom_kills_before = oom_kills()};
    seat.worker->log().begin_attempt();
    if (job.saved_model.empty()) seat.worker->send(RunJob{trainer_job(job)});
    else seat.worker->send(EvaluateModel{trainer_job(job)});
}

HPO_INLINE void Pool::wait(ExecutorEvents& events, double timeout_seconds) {
    loop_.restart();
    loop_.poll();
    if (deliver(events)) return;
    run_until(loop_, std::chrono::duration<double>{timeout_seconds}, [&] { return !happened_.empty(); });
    deliver(events);
}

HPO_INLINE void Pool::interrupt() {
    for (Seat& seat : seats_) {
        if (!seat.running) continue;
        seat.running->interrupted = true;
        ask_to_stop(seat);
    }
}

HPO_INLINE MemoryQuestions::Told Pool::trace(const ParamSet& params, const ExecutionPlan& plan, const std::filesystem::path& file) {
    TrainerJob job = unlimited_job(params, plan);
    job.trace_file = std::filesystem::absolute(file).string();
    return questions_.predict(job, PeakSource::dry_run, Asker{*this});
}

HPO_INLINE CheckAnswer Pool::check(const ParamSet& params, const ExecutionPlan& plan) {
    Reply reply = ask(AskCheck{trainer_job(Job{.params = params, .plan = plan})}, config_.check_timeout);
    if (!reply.answer) throw Error{Errc::plugin, "trainer " + config_.trainer + ": check: " + reply.silence};
    if (reply.answer->error) throw Error{Errc::plugin, "trainer " + config_.trainer + ": check: " + *reply.answer->error};
    return {std::move(reply.answer->problems), std::move(reply.answer->remarks)};
}

HPO_INLINE std::shared_ptr<RemoteWorker> Pool::start_worker(const ExecutionPlan& plan, std::size_t number) {
    const auto log =
        config_.log_folder.empty() ? std::filesystem::path{} : config_.log_folder / ("worker-" + std::to_string(number) + ".log");
    auto worker = RemoteWorker::start(loop_, *this, worker_process(config_, environment_of(plan)), log);
    worker->expect(config_.start_timeout, "trainer " + config_.trainer + ": no word from its worker within " +
                                              seconds_text(config_.start_timeout) +
                                              " of its start: the plugin's library, constructor or info() takes longer or hangs");
    return worker;
}

HPO_INLINE TrainerJob Pool::trainer_job(const Job& job) const {
    TrainerJob result = worker::trainer_job(config_, *info_, job);
    if (metered_ && job.plan.device == "cpu") result.metered_device = metered_->file().string();
    return result;
}

HPO_INLINE TrainerJob Pool::unlimited_job(const ParamSet& params, const ExecutionPlan& plan) const {
    TrainerJob job = worker::trainer_job(config_, *info_, Job{.params = params, .plan = plan});
    job.plan.cap_bytes.reset();
    return job;
}

HPO_INLINE void Pool::dismiss(Seat& seat) {
    seat.worker->dismiss();
    seat.worker.reset();
    seat.leaving = false;
    if (metered_) metered_->reclaim_dead();
}

HPO_INLINE void Pool::dismiss_all() {
    for (Seat& seat : seats_) {
        if (seat.worker) dismiss(seat);
    }
    if (scout_) std::exchange(scout_, nullptr)->dismiss();
}

HPO_INLINE void Pool::ask_to_stop(Seat& seat) {
    if (std::exchange(seat.running->stop_asked, true)) return;
    seat.worker->send(Stop{});
    seat.worker->hurry({config_.stop_grace, config_.kill_grace});
}

HPO_INLINE void Pool::on_event(RemoteWorker& worker, Event event) {
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
    } else if (Seat* seat = seat_of(seats_, worker); seat && seat->running) {
        if (auto happening = happening_of(seat->running->trial, worker.pid(), event)) happened_.push_back(*std::move(happening));
        else if (auto* ended = std::get_if<Ended>(&event)) on_ended(*seat, std::move(*ended));
    }
}

HPO_INLINE void Pool::on_ended(Seat& seat, Ended ended) {
    const Running running = *std::exchange(seat.running, std::nullopt);
    seat.worker->calm();
    seat.leaving = ended.leaving || seat.worker->was_signalled();  // a signal that crossed the end kills it yet
    AttemptOutcome outcome = checked_outcome(running, std::move(ended.outcome));
    if (outcome.failure && outcome.failure->traceback.empty()) outcome.failure->traceback = seat.worker->log().tail();
    outcome.log = seat.worker->log().attempt_text();
    happened_.push_back({running.trial, std::move(outcome)});
}

HPO_INLINE void Pool::on_gone(RemoteWorker& worker, const ProcessExit& exit) {
    if (metered_) metered_->reclaim_dead();
    Seat* seat = seat_of(seats_, worker);
    Death death{.exit = exit, .complaint = worker.complaint(), .last_words = worker.log().tail(), .was_signalled = worker.was_signalled()};
    latest_death_ = explain_death(death);
    if (!seat) return scout_.reset();
    const auto kept = std::exchange(seat->worker, nullptr);
    const auto running = std::exchange(seat->running, std::nullopt);
    seat->leaving = false;
    if (!running) return;
    death.host_memory_was_short = exit.signal == SIGKILL && oom_kills() > running->oom_kills_before;
    AttemptOutcome outcome = outcome_of_death(*running, death);
    outcome.worker_pid = worker.pid();
    outcome.log = worker.log().attempt_text();
    happened_.push_back({running->trial, std::move(outcome)});
}

HPO_INLINE bool Pool::deliver(ExecutorEvents& events) {
    if (happened_.empty()) return false;
    while (!happened_.empty()) {
        Happening happening = std::move(happened_.front());
        happened_.pop_front();
        if (const auto* report = std::get_if<Report>(&happening.what)) judge(events, happening.trial, *report);
        else tell(events, happening);
    }
    return true;
}

HPO_INLINE void Pool::judge(ExecutorEvents& events, std::int64_t trial, const Report& report) {
    const bool stop = events.on_report(trial, report);
    for (Seat& seat : seats_) {
        if (!seat.running || seat.running->trial != trial || seat.running->stop_asked) continue;
        if (stop) ask_to_stop(seat);
        else seat.worker->send(GoOn{});
    }
}

HPO_INLINE bool Pool::let_go(const std::shared_ptr<RemoteWorker>& worker) {
    if (Seat* seat = seat_of(seats_, *worker)) dismiss(*seat);
    else if (worker == scout_) std::exchange(scout_, nullptr)->dismiss();
    else return false;
    return true;
}

}  // namespace hpo::worker
