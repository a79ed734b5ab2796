// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hpo/core/error.hpp"
#include "hpo/trainer/executor.hpp"
#include "hpo/worker/attempt_end.hpp"
#include "hpo/worker/check_answer.hpp"
#include "hpo/worker/device_now.hpp"
#include "hpo/worker/happening.hpp"
#include "hpo/worker/leak_watch.hpp"
#include "hpo/worker/memory_questions.hpp"
#include "hpo/worker/metered_account.hpp"
#include "hpo/worker/oom_killer.hpp"
#include "hpo/worker/orders.hpp"
#include "hpo/worker/pool_config.hpp"
#include "hpo/worker/remote_worker.hpp"
#include "hpo/worker/reply.hpp"
#include "hpo/worker/run_until.hpp"
#include "hpo/worker/seat.hpp"

namespace hpo::worker {

/// Runs attempts in worker processes that stay warm between jobs, on one event loop. A worker that dies costs its
/// attempt, with a Failure that says how, and nothing else; the next job finds a new one.
///
/// Thread safety: none. The thread that made the pool must live as long as it: the kernel kills workers with the thread
/// that started them (PR_SET_PDEATHSIG).
class Pool final : public Executor, private RemoteWorker::Listener {
public:
    /// Starts the first worker and waits until it is ready. Throws Error{plugin} when the trainer cannot be had.
    explicit Pool(PoolConfig config) : config_{std::move(config)}, seats_(std::max<std::size_t>(config_.workers, 1)) {
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
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    ~Pool() override { dismiss_all(); }

    [[nodiscard]] const TrainerInfo& info() const { return *info_; }

    [[nodiscard]] std::size_t free_slots() const override {
        return std::count_if(seats_.begin(), seats_.end(), [](const Seat& seat) { return !seat.running; });
    }

    void submit(const Job& job, ExecutorEvents& events) override {
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

    void wait(ExecutorEvents& events, double timeout_seconds) override {
        loop_.restart();
        loop_.poll();
        if (deliver(events)) return;
        run_until(loop_, std::chrono::duration<double>{timeout_seconds}, [&] { return !happened_.empty(); });
        deliver(events);
    }

    void interrupt() override {
        for (Seat& seat : seats_) {
            if (!seat.running) continue;
            seat.running->interrupted = true;
            ask_to_stop(seat);
        }
    }

    [[nodiscard]] std::optional<std::int64_t> capacity_bytes() const override { return config_.device_budget_bytes; }
    [[nodiscard]] RunsOn runs_on() const override { return {config_.device_name, config_.trainer}; }

    [[nodiscard]] std::optional<MemoryReading> device_now() override { return worker::device_now(config_, occupancy()); }
    /// Who holds how much of the metered device now; nothing on other devices.
    [[nodiscard]] std::optional<device::Occupancy> occupancy() const {
        return metered_ ? std::optional{metered_->occupancy()} : std::nullopt;
    }

    /// @name Questions about an attempt's memory, put to an idle worker or to one more that is kept for questions
    /// On host memory, without the plan's cap: a model that does not fit the device has a size too.
    /// @{
    [[nodiscard]] MemoryEvidence evidence(const ParamSet& params, const ExecutionPlan& plan, Evidence wanted) override {
        return questions_.gather(unlimited_job(params, plan), wanted, Asker{*this});
    }
    [[nodiscard]] std::optional<Profile> profile(const ParamSet& params, const ExecutionPlan& plan) {
        return questions_.profile(unlimited_job(params, plan), Asker{*this});
    }
    /// What a dry run predicts; the worker writes the trace that it predicts from to a file.
    [[nodiscard]] MemoryQuestions::Told trace(const ParamSet& params, const ExecutionPlan& plan, const std::filesystem::path& file) {
        TrainerJob job = unlimited_job(params, plan);
        job.trace_file = std::filesystem::absolute(file).string();
        return questions_.predict(job, PeakSource::dry_run, Asker{*this});
    }
    [[nodiscard]] std::int64_t predictions_made() const { return questions_.made(); }  ///< by workers; others were known
    /// @}

    /// What the trainer finds with these parameters, without training. Throws Error{plugin} when it cannot say.
    [[nodiscard]] CheckAnswer check(const ParamSet& params, const ExecutionPlan& plan) {
        Reply reply = ask(AskCheck{trainer_job(Job{.params = params, .plan = plan})}, config_.check_timeout);
        if (!reply.answer) throw Error{Errc::plugin, "trainer " + config_.trainer + ": check: " + reply.silence};
        if (reply.answer->error) throw Error{Errc::plugin, "trainer " + config_.trainer + ": check: " + *reply.answer->error};
        return {std::move(reply.answer->problems), std::move(reply.answer->remarks)};
    }

private:
    struct Asker {
        Pool& pool;
        Reply operator()(auto question, std::chrono::milliseconds timeout) const { return pool.ask(std::move(question), timeout); }
    };

    Environment environment_of(const ExecutionPlan& plan) const { return worker_environment(config_.environment, plan, config_.threads); }

    std::shared_ptr<RemoteWorker> start_worker(const ExecutionPlan& plan, std::size_t number) {
        const auto log =
            config_.log_folder.empty() ? std::filesystem::path{} : config_.log_folder / ("worker-" + std::to_string(number) + ".log");
        auto worker = RemoteWorker::start(loop_, *this, worker_process(config_, environment_of(plan)), log);
        worker->expect(config_.start_timeout, "trainer " + config_.trainer + ": no word from its worker within " +
                                                  seconds_text(config_.start_timeout) +
                                                  " of its start: the plugin's library, constructor or info() takes longer or hangs");
        return worker;
    }

    TrainerJob trainer_job(const Job& job) const {
        TrainerJob result = worker::trainer_job(config_, *info_, job);
        if (metered_ && job.plan.device == "cpu") result.metered_device = metered_->file().string();
        return result;
    }

    TrainerJob unlimited_job(const ParamSet& params, const ExecutionPlan& plan) const {
        TrainerJob job = worker::trainer_job(config_, *info_, Job{.params = params, .plan = plan});
        job.plan.cap_bytes.reset();
        return job;
    }

    void dismiss(Seat& seat) {
        seat.worker->dismiss();
        seat.worker.reset();
        seat.leaving = false;
        if (metered_) metered_->reclaim_dead();
    }
    void dismiss_all() {
        for (Seat& seat : seats_) {
            if (seat.worker) dismiss(seat);
        }
        if (scout_) std::exchange(scout_, nullptr)->dismiss();
    }

    void ask_to_stop(Seat& seat) {
        if (std::exchange(seat.running->stop_asked, true)) return;
        seat.worker->send(Stop{});
        seat.worker->hurry({config_.stop_grace, config_.kill_grace});
    }

    void on_event(RemoteWorker& worker, Event event) override {
        if (const auto* ready = std::get_if<Ready>(&event)) {
            worker.heard();
            if (ready->protocol != protocol_version) {
                worker.end(config_.worker_program.string() + ": speaks protocol " + std::to_string(ready->protocol) +
                           "; this program speaks " + std::to_string(protocol_version));
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

    void on_ended(Seat& seat, Ended ended) {
        const Running running = *std::exchange(seat.running, std::nullopt);
        seat.worker->calm();
        seat.leaving = ended.leaving || seat.worker->was_signalled();  // a signal that crossed the end kills it yet
        AttemptOutcome outcome = checked_outcome(running, std::move(ended.outcome));
        if (outcome.failure && outcome.failure->traceback.empty()) outcome.failure->traceback = seat.worker->log().tail();
        outcome.log = seat.worker->log().attempt_text();
        happened_.push_back({running.trial, std::move(outcome)});
    }

    void on_gone(RemoteWorker& worker, const ProcessExit& exit) override {
        if (metered_) metered_->reclaim_dead();
        Seat* seat = seat_of(seats_, worker);
        Death death{
            .exit = exit, .complaint = worker.complaint(), .last_words = worker.log().tail(), .was_signalled = worker.was_signalled()};
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

    /// Hands on what has happened; false when that is nothing.
    bool deliver(ExecutorEvents& events) {
        if (happened_.empty()) return false;
        while (!happened_.empty()) {
            Happening happening = std::move(happened_.front());
            happened_.pop_front();
            if (const auto* report = std::get_if<Report>(&happening.what)) judge(events, happening.trial, *report);
            else tell(events, happening);
        }
        return true;
    }
    void judge(ExecutorEvents& events, std::int64_t trial, const Report& report) {
        const bool stop = events.on_report(trial, report);
        for (Seat& seat : seats_) {
            if (!seat.running || seat.running->trial != trial || seat.running->stop_asked) continue;
            if (stop) ask_to_stop(seat);
            else seat.worker->send(GoOn{});
        }
    }

    /// A question to a worker that does nothing else; one that does not answer is ended.
    Reply ask(auto question, std::chrono::milliseconds timeout) {
        const auto stopped = [&] { return config_.stop_requested && config_.stop_requested(); };
        if (stopped()) return Reply::given_up();
        question.id = ++question_;
        std::shared_ptr<RemoteWorker> asked;
        for (Seat& seat : seats_) {
            if (seat.idle()) asked = seat.worker;
        }
        if (!asked && !scout_) scout_ = start_worker(ExecutionPlan{.device = config_.device}, seats_.size());
        if (!asked) asked = scout_;
        answer_.reset();
        asked->send(std::move(question));
        bool stop = false;
        run_until(loop_, timeout, [&] { return answer_ || (asked != scout_ && !seat_of(seats_, *asked)) || (stop = stopped()); });
        if (answer_) {  // one that keeps memory of the device after a question would lay it to its next attempt
            if (answer_->held_bytes > LeakWatch::most_one_time(config_.device_budget_bytes)) let_go(asked);
            return {.answer = std::exchange(answer_, std::nullopt)};
        }
        if (!let_go(asked) && !stop) return {.silence = "no answer: " + latest_death_.message};
        return stop ? Reply::given_up() : Reply{.silence = "no answer within " + seconds_text(timeout)};
    }
    /// Ends a worker that does nothing; false: it is gone already.
    bool let_go(const std::shared_ptr<RemoteWorker>& worker) {
        if (Seat* seat = seat_of(seats_, *worker)) dismiss(*seat);
        else if (worker == scout_) std::exchange(scout_, nullptr)->dismiss();
        else return false;
        return true;
    }

    PoolConfig config_;
    boost::asio::io_context loop_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_{loop_.get_executor()};
    std::optional<device::MeteredDevice> metered_;
    std::vector<Seat> seats_;
    std::shared_ptr<RemoteWorker> scout_;  ///< answers questions while every other is busy
    std::optional<TrainerInfo> info_;
    Failure latest_death_;
    MemoryQuestions questions_{config_};
    std::int64_t question_ = 0;  ///< number of the latest; the answer to another is passed over
    std::optional<Answered> answer_;
    std::deque<Happening> happened_;
};

}  // namespace hpo::worker
