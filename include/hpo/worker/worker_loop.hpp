// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "hpo/trainer/objectives.hpp"
#include "hpo/trainer/trainer.hpp"
#include "hpo/worker/channel.hpp"
#include "hpo/worker/host_growth.hpp"
#include "hpo/worker/host_memory_limit.hpp"
#include "hpo/worker/leak_watch.hpp"
#include "hpo/worker/protocol.hpp"

namespace hpo::worker {

/// One attempt's Progress: reports go to the supervisor and wait for its word.
///
/// Design note: a report waits for the answer, so that a trial is pruned at the step that the pruner judged, however
/// fast the steps are; without it the same study would prune at other steps on a busier machine.
class RemoteProgress final : public Progress {
public:
    explicit RemoteProgress(Channel& channel) : channel_{channel} {}

    [[nodiscard]] bool report(std::int64_t step, double value) override {
        std::unique_lock lock{mutex_};
        if (stop_) return false;
        ++unanswered_;
        lock.unlock();
        channel_.send(message_line(Event{Reported{{.step = step, .value = value, .is_last = step == last_step_}}}));
        lock.lock();
        answered_.wait(lock, [&] { return unanswered_ == 0 || stop_; });
        return !stop_;
    }
    void last_step(std::int64_t step) override { last_step_ = step; }
    [[nodiscard]] bool stop_requested() const override { return stop_; }
    void memory(const MemoryMark& mark) override {
        leaks_.see(mark);
        channel_.send(message_line(Event{Measured{mark}}));
    }
    void checkpointed(std::int64_t step) override { channel_.send(message_line(Event{Checkpointed{step}})); }
    void log(std::string_view line) override {
        const std::string text = std::string{line} + '\n';
        static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
    }

    /// @name The supervisor's word, from the thread that listens
    /// @{
    void go_on() {
        const std::lock_guard lock{mutex_};
        if (unanswered_ > 0) --unanswered_;
        answered_.notify_all();
    }
    void stop() {
        const std::lock_guard lock{mutex_};
        stop_ = true;
        answered_.notify_all();
    }
    /// @}
    void begin_attempt() {
        const std::lock_guard lock{mutex_};
        stop_ = false;
        unanswered_ = 0;
        last_step_.reset();
    }
    /// Told by the attempt's thread, as memory() is.
    [[nodiscard]] LeakWatch& leaks() { return leaks_; }

private:
    Channel& channel_;
    LeakWatch leaks_;
    std::optional<std::int64_t> last_step_;  ///< told by the attempt's thread, as leaks_ is
    std::mutex mutex_;
    std::condition_variable answered_;
    int unanswered_ = 0;
    std::atomic<bool> stop_ = false;
};

/// What a question's trainer sees: it may be stopped, and has nothing to report. The first lines that it logs are kept, and what it says
/// that the process holds in the end.
class QuestionProgress final : public Progress {
public:
    explicit QuestionProgress(RemoteProgress& attempt) : attempt_{attempt} {}
    [[nodiscard]] bool report(std::int64_t, double) override { return !attempt_.stop_requested(); }
    [[nodiscard]] bool stop_requested() const override { return attempt_.stop_requested(); }
    void memory(const MemoryMark& mark) override {
        if (mark.name == "end") held_bytes_ = mark.reading.allocated;
    }
    void log(std::string_view line) override {
        constexpr std::size_t most_lines = 100;
        {
            const std::lock_guard lock{mutex_};
            if (lines_.size() < most_lines) lines_.emplace_back(line);
        }
        attempt_.log(line);
    }
    [[nodiscard]] std::vector<std::string> take_lines() { return std::exchange(lines_, {}); }
    [[nodiscard]] std::optional<std::int64_t> held_bytes() const { return held_bytes_; }

private:
    RemoteProgress& attempt_;
    std::mutex mutex_;
    std::vector<std::string> lines_;
    std::optional<std::int64_t> held_bytes_;  ///< told by the question's thread
};

/// A worker's life: says Ready, then obeys until the supervisor quits, vanishes or talks nonsense. Every request runs
/// in another thread, so that this one hears a stop while the trainer works.
class WorkerLoop {
public:
    /// `build` is Ready::build.
    WorkerLoop(Channel& channel, Trainer& trainer, std::string build = {})
        : channel_{channel}, trainer_{trainer}, build_{std::move(build)}, progress_{channel} {}
    WorkerLoop(const WorkerLoop&) = delete;
    WorkerLoop& operator=(const WorkerLoop&) = delete;
    ~WorkerLoop() {
        if (thread_.joinable()) thread_.detach();
    }

    /// Returns the exit status. An attempt may still be running then: the caller must end the process with _exit, and
    /// neither this object nor the trainer may be destroyed before.
    [[nodiscard]] int serve() {
        try {
            channel_.send(message_line(Event{Ready{.info = trainer_.info(), .build = build_}}));
            while (const auto line = channel_.receive()) {
                auto request = parse_message<Request>(*line);
                if (std::holds_alternative<Quit>(request)) break;
                std::visit([&](auto& r) { obey(r); }, request);
            }
            return 0;
        } catch (const Error& error) {
            channel_.send(message_line(Event{Refused{error.what()}}));
            return exit_code(error.code());
        }
    }

private:
    void obey(RunJob& request) {
        begin([this, job = std::move(request.job)] { attempt(job, [&] { return trainer_.run(job, progress_); }); });
    }
    void obey(EvaluateModel& request) {
        begin([this, job = std::move(request.job)] { attempt(job, [&] { return trainer_.evaluate(job, progress_); }); });
    }
    void obey(AskProfile& request) {
        begin([this, request = std::move(request)] {
            answer(request.id, [&](Answered& to, Progress& progress) { to.profile = trainer_.stoppable_profile(request.job, progress); });
        });
    }
    void obey(AskPeak& request) {
        begin([this, request = std::move(request)] {
            answer(request.id, [&](Answered& to, Progress& progress) {
                const HostMemoryLimit limit{request.most_memory_bytes};
                to.peak = trainer_.predict(request.job, request.source, progress);
            });
        });
    }
    void obey(AskCheck& request) {
        begin([this, request = std::move(request)] {
            answer(request.id, [&](Answered& to, QuestionProgress& progress) {
                to.problems = trainer_.stoppable_check(request.job, progress);
                to.remarks = progress.take_lines();
            });
        });
    }
    void obey(const GoOn&) { progress_.go_on(); }
    void obey(const Stop&) { progress_.stop(); }
    void obey(const Quit&) {}

    void begin(std::function<void()> work) {
        if (busy_) throw Error{Errc::usage, "message: a request while another one is worked on; expected go_on, stop, quit"};
        if (thread_.joinable()) thread_.join();  // it has said its last word, or busy_ would be set
        busy_ = true;
        progress_.begin_attempt();
        thread_ = std::thread{std::move(work)};
    }
    /// The thread's last word; the next request may come at once.
    void finish(const Event& event) {
        std::fflush(stdout);
        std::fflush(stderr);
        const std::string line = message_line(event);
        busy_ = false;
        channel_.send(line);
    }
    template <class Work>
    void attempt(const TrainerJob& job, Work&& work) {
        const auto begin = std::chrono::steady_clock::now();
        channel_.send(message_line(Event{Started{}}));
        progress_.leaks().begin(job.plan.device);
        AttemptOutcome outcome = work();
        for (const MemoryMark& mark : outcome.memory) progress_.leaks().see(mark);
        const std::optional<MemoryMark> leak = progress_.leaks().leak();
        if (leak) outcome.memory.push_back(*leak);
        outcome.worker_pid = ::getpid();
        outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        const std::optional<MemoryMark> growth = host_growth_.see_this_process(outcome.seconds);
        if (growth) outcome.memory.push_back(*growth);
        complete_values(outcome, job);
        const bool poisoned =
            outcome.failure && (outcome.failure->kind == FailureKind::cuda_sticky || outcome.failure->kind == FailureKind::hardware);
        const bool leaving = poisoned || leak || growth;
        finish(Ended{std::move(outcome), leaving});
        if (leaving) channel_.stop_receiving();
    }
    template <class F>
    void answer(std::int64_t id, F&& fill) {
        Answered answered{.id = id};
        QuestionProgress progress{progress_};
        try {
            fill(answered, progress);
        } catch (const std::bad_alloc& error) {
            answered.error = error.what();
            answered.no_memory = true;
        } catch (const std::exception& error) {
            answered.error = error.what();
        }
        answered.held_bytes = progress.held_bytes();
        finish(std::move(answered));
    }

    Channel& channel_;
    Trainer& trainer_;
    std::string build_;
    RemoteProgress progress_;
    HostGrowth host_growth_;
    std::atomic<bool> busy_ = false;
    std::thread thread_;
};

}  // namespace hpo::worker
