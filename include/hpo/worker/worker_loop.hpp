// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "hpo/trainer/trainer.hpp"
#include "hpo/worker/channel.hpp"
#include "hpo/worker/host_growth.hpp"
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

    [[nodiscard]] bool report(std::int64_t step, double value) override;
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
    void go_on();
    void stop();
    /// @}
    void begin_attempt();
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
    explicit QuestionProgress(RemoteProgress& attempt);
    [[nodiscard]] bool report(std::int64_t, double) override { return !attempt_.stop_requested(); }
    [[nodiscard]] bool stop_requested() const override { return attempt_.stop_requested(); }
    void memory(const MemoryMark& mark) override {
        if (mark.name == "end") held_bytes_ = mark.reading.allocated;
    }
    void log(std::string_view line) override;
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
    [[nodiscard]] int serve();

private:
    void obey(RunJob& request);
    void obey(EvaluateModel& request);
    void obey(AskProfile& request);
    void obey(AskPeak& request);
    void obey(AskCheck& request);
    void obey(const GoOn&) { progress_.go_on(); }
    void obey(const Stop&) { progress_.stop(); }
    void obey(const Quit&) {}

    void begin(std::function<void()> work);
    /// The thread's last word; the next request may come at once.
    void finish(const Event& event);
    template <class Work>
    void attempt(const TrainerJob& job, Work&& work);
    template <class F>
    void answer(std::int64_t id, F&& fill);

    Channel& channel_;
    Trainer& trainer_;
    std::string build_;
    RemoteProgress progress_;
    HostGrowth host_growth_;
    std::atomic<bool> busy_ = false;
    std::thread thread_;
};

}  // namespace hpo::worker

#ifndef HPO_COMPILED
#include "hpo/worker/impl/worker_loop_inl.hpp"
#endif
