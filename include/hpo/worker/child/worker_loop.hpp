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

#include "hpo/trainer/event_progress.hpp"
#include "hpo/trainer/trainer.hpp"
#include "hpo/worker/channel.hpp"
#include "hpo/worker/child/host_growth.hpp"
#include "hpo/worker/leak_watch.hpp"
#include "hpo/worker/protocol.hpp"

namespace hpo::worker {

/// The Progress of one attempt. It sends the events to the supervisor and waits for the answers.
///
/// Design note: a report waits for its answer, so a trial is pruned at the very step that the pruner judged. Without that, the same study
/// would prune at other steps on a busier machine.
class RemoteProgress final : public EventProgress {
public:
    explicit RemoteProgress(Channel& channel) : channel_{channel} {}

    [[nodiscard]] bool stop_requested() const override { return stop_; }

    /// @name From the thread that listens to the supervisor
    /// @{
    void answered(Answer answer);
    void stop();
    /// @}
    void begin_attempt();
    /// Used by the attempt's thread, like memory().
    [[nodiscard]] LeakWatch& leaks() { return leaks_; }

private:
    EventAnswer on(const AttemptEvent& event) override;
    /// Sends an event that awaits_answer. Once the attempt was asked to end, no answer is waited for.
    EventAnswer ask(const AttemptEvent& event);

    Channel& channel_;
    LeakWatch leaks_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::int64_t asked_ = 0;        ///< id of the latest event that awaits its answer; set by the attempt's thread
    std::optional<Answer> answer_;  ///< the latest
    std::atomic<bool> stop_ = false;
};

/// The Progress of a question. The trainer may be stopped, and its reports are not passed on. Keeps the first lines that it logs, and how
/// much of the device the process holds in the end.
class QuestionProgress final : public Progress {
public:
    explicit QuestionProgress(RemoteProgress& attempt);
    [[nodiscard]] bool report(std::int64_t, double) override { return !attempt_.stop_requested(); }
    [[nodiscard]] bool stop_requested() const override { return attempt_.stop_requested(); }
    void memory(const MemoryMark& mark) override {
        if (mark.name == "end") held_bytes_ = mark.reading.allocated;
    }
    void log(std::string_view line) override;
    [[nodiscard]] std::optional<std::string> recall(const std::string& key) override { return attempt_.recall(key); }
    void keep(const std::string& key, const std::string& text) override { attempt_.keep(key, text); }
    [[nodiscard]] std::vector<std::string> take_lines() { return std::exchange(lines_, {}); }
    [[nodiscard]] std::optional<std::int64_t> held_bytes() const { return held_bytes_; }

private:
    RemoteProgress& attempt_;
    std::mutex mutex_;
    std::vector<std::string> lines_;
    std::optional<std::int64_t> held_bytes_;  ///< set by the question's thread
};

/// The loop of a worker. It sends Ready, then obeys requests until the supervisor says Quit, is gone, or sends something unreadable. Every
/// request runs in another thread, so that this thread hears a stop while the trainer works.
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

    /// Returns the exit status. An attempt may still be running then. So the caller must end the process with _exit, and must not destroy
    /// this object or the trainer before.
    [[nodiscard]] int serve();

private:
    void obey(Ask& request);
    void obey(Answer& answer) { progress_.answered(std::move(answer)); }
    void obey(const Stop&) { progress_.stop(); }
    void obey(const Quit&) {}

    void begin(std::function<void()> work);
    /// Sends the thread's last message. The next request may come at once.
    void finish(const Event& event);
    /// Trains, or evaluates a model.
    void attempt(const TrainerRequest& request);
    /// Answers any other question.
    void answer(const Ask& question);
    void fill(Answered& answered, const TrainerRequest& request, QuestionProgress& progress);

    Channel& channel_;
    Trainer& trainer_;
    std::string build_;
    RemoteProgress progress_;
    HostGrowth host_growth_;
    std::atomic<bool> busy_ = false;
    std::thread thread_;
};

}  // namespace hpo::worker
