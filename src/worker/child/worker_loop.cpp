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

EventAnswer RemoteProgress::on(const AttemptEvent& event) {
    if (awaits_answer(event)) return ask(event);
    if (const auto* const line = std::get_if<LogLine>(&event)) {
        const std::string text = line->text + '\n';
        static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
        return {};
    }
    if (std::holds_alternative<Phase>(event)) return {};  // its failure has a place of its own
    if (const auto* const mark = std::get_if<MemoryMark>(&event)) leaks_.see(*mark);
    channel_.send(message_line(Event{Happened{event}}));
    return {};
}

EventAnswer RemoteProgress::ask(const AttemptEvent& event) {
    const std::int64_t id = ++asked_;
    if (!stop_) channel_.send(message_line(Event{Happened{event, id}}));
    std::unique_lock lock{mutex_};
    const auto is_answered = [&] { return answer_ && answer_->event == id; };  // an answer to an earlier event may come late
    changed_.wait(lock, [&] { return is_answered() || stop_; });
    EventAnswer answer = is_answered() ? std::move(answer_->answer) : EventAnswer{};
    if (stop_) answer.goes_on = false;
    return answer;
}

void RemoteProgress::answered(Answer answer) {
    const std::lock_guard lock{mutex_};
    answer_ = std::move(answer);
    changed_.notify_all();
}

void RemoteProgress::stop() {
    const std::lock_guard lock{mutex_};
    stop_ = true;
    changed_.notify_all();
}

void RemoteProgress::begin_attempt() {
    const std::lock_guard lock{mutex_};
    stop_ = false;
    forget_last_step();
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

void WorkerLoop::obey(Ask& question) {
    const bool is_attempt = question.request.question == TrainerQuestion::run || question.request.question == TrainerQuestion::evaluate;
    begin([this, question = std::move(question), is_attempt] {
        if (is_attempt) attempt(question.request);
        else answer(question);
    });
}

void WorkerLoop::begin(std::function<void()> work) {
    if (busy_) throw Error{Errc::usage, "message: a request while another one is worked on; expected event_answer, stop, quit"};
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

void WorkerLoop::attempt(const TrainerRequest& request) {
    const TrainerJob& job = request.job;
    const auto begin = std::chrono::steady_clock::now();
    channel_.send(message_line(Event{Happened{AttemptStarted{}}}));
    progress_.leaks().begin(job.plan.device);
    AttemptOutcome outcome = request.question == TrainerQuestion::run ? trainer_.run(job, progress_) : trainer_.evaluate(job, progress_);
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
    finish(Happened{.event = std::move(outcome), .leaving = leaving});
    if (leaving) channel_.stop_receiving();
}

void WorkerLoop::answer(const Ask& question) {
    Answered answered{.id = question.id};
    QuestionProgress progress{progress_};
    try {
        const HostMemoryLimit limit{question.most_memory_bytes};
        fill(answered, question.request, progress);
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

void WorkerLoop::fill(Answered& answered, const TrainerRequest& request, QuestionProgress& progress) {
    switch (request.question) {
        case TrainerQuestion::profile: answered.profile = trainer_.stoppable_profile(request.job, progress); return;
        case TrainerQuestion::predict: answered.peak = trainer_.predict(request.job, request.source, progress); return;
        case TrainerQuestion::measure: answered.findings = trainer_.measure(request.job, progress); return;
        case TrainerQuestion::check:
            answered.problems = trainer_.stoppable_check(request.job, progress);
            answered.remarks = progress.take_lines();
            return;
        case TrainerQuestion::info:
        case TrainerQuestion::run:
        case TrainerQuestion::evaluate: break;  // Ready has the info, and attempts are not answered so
    }
    throw bad_value("ask", std::string{to_text(request.question)}, "profile, predict, check or measure");
}

}  // namespace hpo::worker
