// SPDX-License-Identifier: MIT
#include "hpo/worker/child/worker_loop.hpp"

#include <unistd.h>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>

#include "hpo/trainer/cannot_run.hpp"
#include "hpo/trainer/objectives.hpp"
#include "worker/child/host_memory_limit.hpp"

namespace hpo::worker {

bool RemoteProgress::report(std::int64_t step, double value) {
    std::unique_lock lock{mutex_};
    if (stop_) return false;
    ++unanswered_;
    lock.unlock();
    channel_.send(message_line(Event{Reported{{.step = step, .value = value, .is_last = step == last_step_}}}));
    lock.lock();
    answered_.wait(lock, [&] { return unanswered_ == 0 || stop_; });
    return !stop_ && !prune_;
}

Value RemoteProgress::suggest(const std::string& name, const std::string& distribution) {
    std::unique_lock lock{mutex_};
    suggested_.reset();
    lock.unlock();
    channel_.send(message_line(Event{Asked{name, distribution}}));
    lock.lock();
    answered_.wait(lock, [&] { return suggested_ || stop_; });
    if (!suggested_) throw Error{Errc::interrupted, "parameter '" + name + "': the attempt is to end"};
    if (!suggested_->error.empty()) throw Error{Errc::bad_value, suggested_->error};
    return std::move(suggested_->value);
}

void RemoteProgress::suggested(Suggestion suggestion) {
    const std::lock_guard lock{mutex_};
    suggested_ = std::move(suggestion);
    answered_.notify_all();
}

std::optional<std::string> RemoteProgress::recall(const std::string& key) {
    std::unique_lock lock{mutex_};
    recalled_.reset();
    lock.unlock();
    channel_.send(message_line(Event{Recall{key}}));
    lock.lock();
    const auto is_told = [&] { return recalled_ && recalled_->key == key; };  // an answer to a question before may come late
    answered_.wait(lock, [&] { return is_told() || stop_; });
    return is_told() ? std::move(recalled_->text) : std::nullopt;
}

void RemoteProgress::recalled(Recalled answer) {
    const std::lock_guard lock{mutex_};
    recalled_ = std::move(answer);
    answered_.notify_all();
}

void RemoteProgress::go_on(bool prune) {
    const std::lock_guard lock{mutex_};
    prune_ = prune;
    if (unanswered_ > 0) --unanswered_;
    answered_.notify_all();
}

void RemoteProgress::stop() {
    const std::lock_guard lock{mutex_};
    stop_ = true;
    answered_.notify_all();
}

void RemoteProgress::begin_attempt() {
    const std::lock_guard lock{mutex_};
    stop_ = false;
    unanswered_ = 0;
    prune_ = false;
    last_step_.reset();
}

QuestionProgress::QuestionProgress(RemoteProgress& attempt) : attempt_{attempt} {}

void QuestionProgress::log(std::string_view line) {
    constexpr std::size_t most_lines = 100;
    {
        const std::lock_guard lock{mutex_};
        if (lines_.size() < most_lines) lines_.emplace_back(line);
    }
    attempt_.log(line);
}

int WorkerLoop::serve() {
    int status = 0;
    try {
        channel_.send(message_line(Event{Ready{.info = trainer_.info(), .build = build_}}));
        while (const auto line = channel_.receive()) {
            auto request = parse_message<Request>(*line);
            if (std::holds_alternative<Quit>(request)) break;
            std::visit([&](auto& r) { obey(r); }, request);
        }
    } catch (const Error& error) {
        channel_.send(message_line(Event{Refused{error.what()}}));
        status = exit_code(error.code());
    }
    if (thread_.joinable()) thread_.detach();  // it may still work, and ends with the process
    return status;
}

void WorkerLoop::obey(RunJob& request) {
    begin([this, job = std::move(request.job)] { attempt(job, [&] { return trainer_.run(job, progress_); }); });
}

void WorkerLoop::obey(EvaluateModel& request) {
    begin([this, job = std::move(request.job)] { attempt(job, [&] { return trainer_.evaluate(job, progress_); }); });
}

void WorkerLoop::obey(AskProfile& request) {
    begin([this, request = std::move(request)] {
        answer(request.id, [&](Answered& to, Progress& progress) { to.profile = trainer_.stoppable_profile(request.job, progress); });
    });
}

void WorkerLoop::obey(AskPeak& request) {
    begin([this, request = std::move(request)] {
        answer(request.id, [&](Answered& to, Progress& progress) {
            const HostMemoryLimit limit{request.most_memory_bytes};
            to.peak = trainer_.predict(request.job, request.source, progress);
        });
    });
}

void WorkerLoop::obey(AskCheck& request) {
    begin([this, request = std::move(request)] {
        answer(request.id, [&](Answered& to, QuestionProgress& progress) {
            const HostMemoryLimit limit{request.most_memory_bytes};
            to.problems = trainer_.stoppable_check(request.job, progress);
            to.remarks = progress.take_lines();
        });
    });
}

void WorkerLoop::obey(AskMeasure& request) {
    begin([this, request = std::move(request)] {
        answer(request.id, [&](Answered& to, Progress& progress) { to.findings = trainer_.measure(request.job, progress); });
    });
}

void WorkerLoop::begin(std::function<void()> work) {
    if (busy_) throw Error{Errc::usage, "message: a request while another one is worked on; expected go_on, stop, quit"};
    if (thread_.joinable()) thread_.join();  // it has sent its last message, else busy_ would be set
    busy_ = true;
    progress_.begin_attempt();
    thread_ = std::thread{std::move(work)};
}

void WorkerLoop::finish(const Event& event) {
    std::fflush(stdout);
    std::fflush(stderr);
    const std::string line = message_line(event);
    busy_ = false;
    channel_.send(line);
}

template <class Work>
void WorkerLoop::attempt(const TrainerJob& job, Work&& work) {
    const auto begin = std::chrono::steady_clock::now();
    channel_.send(message_line(Event{Started{}}));
    progress_.leaks().begin(job.plan.device);
    AttemptOutcome outcome = work();
    for (const MemoryMark& mark : outcome.memory) progress_.leaks().see(mark);
    const std::optional<MemoryMark> leak = progress_.leaks().leak();
    if (leak) outcome.memory.push_back(*leak);
    const std::optional<MemoryMark> held_cache = progress_.leaks().held_cache();
    if (held_cache) outcome.memory.push_back(*held_cache);
    outcome.worker_pid = ::getpid();
    const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    outcome.seconds = std::max(0.0, elapsed - outcome.idle_seconds);
    const std::optional<MemoryMark> growth = host_growth_.see_this_process(outcome.seconds);
    if (growth) outcome.memory.push_back(*growth);
    complete_values(outcome, job);
    const bool poisoned =
        outcome.failure && (outcome.failure->kind == FailureKind::cuda_sticky || outcome.failure->kind == FailureKind::hardware);
    const bool leaving = poisoned || leak || held_cache || growth;
    finish(Ended{std::move(outcome), leaving});
    if (leaving) channel_.stop_receiving();
}

template <class F>
void WorkerLoop::answer(std::int64_t id, F&& fill) {
    Answered answered{.id = id};
    QuestionProgress progress{progress_};
    try {
        fill(answered, progress);
    } catch (const std::bad_alloc& error) {
        answered.error = error.what();
        answered.no_memory = true;
    } catch (const CannotRun& error) {
        answered.error = error.what();
        answered.cannot_run = true;
    } catch (const std::exception& error) {
        answered.error = error.what();
    }
    answered.held_bytes = progress.held_bytes();
    finish(std::move(answered));
}

}  // namespace hpo::worker
