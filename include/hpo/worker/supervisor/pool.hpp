// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "hpo/core/device_word.hpp"
#include "hpo/device/metered_device.hpp"
#include "hpo/trainer/executor.hpp"
#include "hpo/worker/leak_watch.hpp"
#include "hpo/worker/supervisor/check_answer.hpp"
#include "hpo/worker/supervisor/device_now.hpp"
#include "hpo/worker/supervisor/event_loop.hpp"
#include "hpo/worker/supervisor/memory_questions.hpp"
#include "hpo/worker/supervisor/pool_config.hpp"
#include "hpo/worker/supervisor/remote_worker.hpp"
#include "hpo/worker/supervisor/reply.hpp"
#include "hpo/worker/supervisor/slot.hpp"
#include "hpo/worker/supervisor/worker_event.hpp"
#include "hpo/worker/supervisor/worker_jobs.hpp"
#include "hpo/worker/supervisor/xid_notes.hpp"

namespace hpo::worker {

/// Runs attempts in worker processes that stay warm between jobs, on one event loop. If a worker dies, only its attempt is lost, with a
/// Failure that says how. The next job gets a new worker.
///
/// Thread safety: none. The thread that made the pool must live as long as the pool, because the kernel kills workers together with the
/// thread that started them (PR_SET_PDEATHSIG).
class Pool final : public Executor, private RemoteWorker::Listener {
public:
    /// Starts the first worker and waits until it is ready. Throws Error{plugin} if the trainer cannot be started.
    explicit Pool(PoolConfig config);
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    ~Pool() override {
        dismiss_all();
        loop_->undelivered -= happened_.size();
    }

    [[nodiscard]] const TrainerInfo& info() const { return *info_; }

    /// A slot is free once the end of its attempt was delivered.
    [[nodiscard]] std::size_t free_slots() const override {
        return std::count_if(slots_.begin(), slots_.end(), [](const WorkerSlot& slot) { return !slot.running && !slot.ended; });
    }

    void submit(const Job& job, ExecutorEvents& events) override;

    void wait(ExecutorEvents& events, double timeout_seconds) override;

    void interrupt() override;

    [[nodiscard]] std::optional<std::int64_t> capacity_bytes() const override { return config_.device_budget_bytes; }
    [[nodiscard]] bool can_block_launches() const override { return !is_cpu(config_.device); }
    [[nodiscard]] RunsOn runs_on() const override { return {config_.device_name, config_.trainer}; }

    [[nodiscard]] std::optional<MemoryReading> device_now() override { return worker::device_now(config_, occupancy()); }
    [[nodiscard]] std::optional<std::int64_t> free_now() override { return worker::free_now(config_, occupancy()); }
    /// How much of the metered device each process holds now. Returns nullopt for other devices.
    [[nodiscard]] std::optional<device::Occupancy> occupancy() const {
        return metered_ ? std::optional{metered_->occupancy()} : std::nullopt;
    }

    /// @name Questions about an attempt's memory, for an idle worker or for one more that is kept for questions
    /// They are answered in host memory and without the plan's cap, so a model that does not fit the device is measured too.
    /// @{
    [[nodiscard]] MemoryEvidence evidence(const ParamSet& params, const ExecutionPlan& plan, Evidence wanted) override {
        return questions_.gather(unlimited_job(params, plan), wanted, capacity_bytes(), Asker{*this});
    }
    [[nodiscard]] std::optional<Profile> profile(const ParamSet& params, const ExecutionPlan& plan) {
        return questions_.profile(unlimited_job(params, plan), Asker{*this});
    }
    /// The prediction of one source, without a note if there is none.
    [[nodiscard]] MemoryQuestions::Told prediction(const ParamSet& params, const ExecutionPlan& plan, PeakSource source) {
        return questions_.quietly_predict(unlimited_job(params, plan), source, Asker{*this});
    }
    /// The prediction of a dry run. The worker writes the trace from which it predicts to a file.
    [[nodiscard]] MemoryQuestions::Told trace(const ParamSet& params, const ExecutionPlan& plan, const std::filesystem::path& file);
    [[nodiscard]] std::int64_t predictions_made() const { return questions_.made(); }  ///< by workers; known ones do not count
    /// @}

    /// What the trainer finds with these parameters without training. Throws Error{plugin} if it cannot say, and also if it does not
    /// answer in PoolConfig::check_timeout. If `timeout` is given, a late answer is none.
    [[nodiscard]] CheckAnswer check(const ParamSet& params, const ExecutionPlan& plan,
                                    std::optional<std::chrono::milliseconds> timeout = {});

    /// What the trainer finds when it measures the pool's device. Throws Error{plugin} with the reason if it cannot, or does not answer in
    /// PoolConfig::check_timeout.
    [[nodiscard]] std::vector<DeviceFinding> measure();

private:
    struct Asker {
        Pool& pool;
        Reply operator()(Ask question, std::chrono::milliseconds timeout) const { return pool.ask(std::move(question), timeout); }
    };

    Environment environment_of(const ExecutionPlan& plan) const { return worker_environment(config_.environment, plan, config_.threads); }

    std::shared_ptr<RemoteWorker> start_worker(Environment environment, std::size_t number);

    TrainerJob trainer_job(const Job& job) const;

    TrainerJob unlimited_job(const ParamSet& params, const ExecutionPlan& plan) const;

    void dismiss(WorkerSlot& slot);
    void dismiss_all();

    /// Waits until a GPU no longer lists the workers that are gone, because the next one may need their memory.
    void await_release();
    /// Ends idle workers that are not to run another attempt.
    void dismiss_leaving();

    void ask_to_stop(WorkerSlot& slot);
    /// Ends attempts that take longer than PoolConfig::attempt_time, or whose workers say nothing for silence_time.
    void end_overdue();

    void on_event(RemoteWorker& worker, Event event) override;

    void on_happened(RemoteWorker& worker, Happened happened);
    void on_ended(WorkerSlot& slot, AttemptOutcome outcome, bool leaving);

    [[nodiscard]] std::size_t running_attempts() const;
    /// Adds what the driver reported meanwhile to the failure of an attempt that just ended and still counts as running.
    void add_xids(AttemptOutcome& outcome, const Running& running, std::size_t attempts);

    void on_gone(RemoteWorker& worker, const ProcessExit& exit) override;

    /// Keeps an event for the next call of `wait`.
    void tell_later(WorkerEvent event) {
        happened_.push_back(std::move(event));
        ++loop_->undelivered;
    }
    /// Passes on the events that came. Returns false if there were none.
    bool deliver(ExecutorEvents& events);
    /// Passes on the tuner's answer to an event. Asks the worker to stop if it is to end there.
    void reply(const WorkerEvent& event, EventAnswer answer);

    /// An idle worker, or one of those that are kept for questions.
    std::shared_ptr<RemoteWorker> worker_for(const TrainerRequest& question);
    std::shared_ptr<RemoteWorker> idle_worker();
    [[nodiscard]] bool has(const RemoteWorker& worker) {
        return &worker == question_worker_.get() || &worker == card_worker_.get() || slot_of(slots_, worker);
    }

    /// Asks a worker a question. Ends the worker if it does not answer.
    Reply ask(Ask question, std::chrono::milliseconds timeout) {
        const auto stopped = [&] { return config_.stop_requested && config_.stop_requested(); };
        if (stopped()) return Reply::given_up();
        question.id = ++question_;
        const std::shared_ptr<RemoteWorker> asked = worker_for(question.request);
        answer_.reset();
        asked->send(std::move(question));
        bool stop = false;
        const Moment asked_at = loop_->now();
        loop_->run_until(timeout, [&] { return answer_ || !has(*asked) || (stop = stopped()); });
        looked_ = loop_->now();
        if (answer_) {  // if a worker kept device memory after a question, it would count for its next attempt
            if (answer_->held_bytes > LeakWatch::most_one_time(config_.device_budget_bytes)) let_go(asked);
            return {.answer = std::exchange(answer_, std::nullopt), .seconds = seconds_between(asked_at, looked_)};
        }
        if (!let_go(asked) && !stop) return {.silence = "no answer: " + latest_death_.message};
        return stop ? Reply::given_up() : Reply{.silence = "no answer within " + seconds_text(timeout), .late = true};
    }
    /// Ends an idle worker. Returns false if it is gone already.
    bool let_go(const std::shared_ptr<RemoteWorker>& worker);

    PoolConfig config_;
    std::shared_ptr<EventLoop> loop_{config_.loop ? config_.loop : std::make_shared<EventLoop>()};
    std::optional<device::MeteredDevice> metered_;
    std::vector<WorkerSlot> slots_;
    XidNotes xids_;
    std::shared_ptr<RemoteWorker> question_worker_;  ///< answers questions while every other is busy
    std::shared_ptr<RemoteWorker> card_worker_;      ///< answers what PeakSource::virtual_card is asked
    std::optional<TrainerInfo> info_;
    std::vector<std::int64_t> gone_;  ///< workers that ended since the latest await_release
    Failure latest_death_;
    Moment looked_ = loop_->now();  ///< the latest look at the workers
    MemoryQuestions questions_{config_};
    std::int64_t question_ = 0;  ///< number of the latest question; answers to earlier ones are ignored
    std::optional<Answered> answer_;
    std::deque<WorkerEvent> happened_;
};

}  // namespace hpo::worker
