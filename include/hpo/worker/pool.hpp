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
#include <utility>
#include <vector>

#include "hpo/device/metered_device.hpp"
#include "hpo/trainer/executor.hpp"
#include "hpo/worker/check_answer.hpp"
#include "hpo/worker/device_now.hpp"
#include "hpo/worker/happening.hpp"
#include "hpo/worker/leak_watch.hpp"
#include "hpo/worker/memory_questions.hpp"
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
    explicit Pool(PoolConfig config);
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    ~Pool() override { dismiss_all(); }

    [[nodiscard]] const TrainerInfo& info() const { return *info_; }

    [[nodiscard]] std::size_t free_slots() const override {
        return std::count_if(seats_.begin(), seats_.end(), [](const Seat& seat) { return !seat.running; });
    }

    void submit(const Job& job, ExecutorEvents& events) override;

    void wait(ExecutorEvents& events, double timeout_seconds) override;

    void interrupt() override;

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
    [[nodiscard]] MemoryQuestions::Told trace(const ParamSet& params, const ExecutionPlan& plan, const std::filesystem::path& file);
    [[nodiscard]] std::int64_t predictions_made() const { return questions_.made(); }  ///< by workers; others were known
    /// @}

    /// What the trainer finds with these parameters, without training. Throws Error{plugin} when it cannot say.
    [[nodiscard]] CheckAnswer check(const ParamSet& params, const ExecutionPlan& plan);

private:
    struct Asker {
        Pool& pool;
        Reply operator()(auto question, std::chrono::milliseconds timeout) const { return pool.ask(std::move(question), timeout); }
    };

    Environment environment_of(const ExecutionPlan& plan) const { return worker_environment(config_.environment, plan, config_.threads); }

    std::shared_ptr<RemoteWorker> start_worker(const ExecutionPlan& plan, std::size_t number);

    TrainerJob trainer_job(const Job& job) const;

    TrainerJob unlimited_job(const ParamSet& params, const ExecutionPlan& plan) const;

    void dismiss(Seat& seat);
    void dismiss_all();

    void ask_to_stop(Seat& seat);

    void on_event(RemoteWorker& worker, Event event) override;

    void on_ended(Seat& seat, Ended ended);

    void on_gone(RemoteWorker& worker, const ProcessExit& exit) override;

    /// Hands on what has happened; false when that is nothing.
    bool deliver(ExecutorEvents& events);
    void judge(ExecutorEvents& events, std::int64_t trial, const Report& report);

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
    bool let_go(const std::shared_ptr<RemoteWorker>& worker);

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

#ifndef HPO_COMPILED
#include "hpo/worker/impl/pool_inl.hpp"
#endif
