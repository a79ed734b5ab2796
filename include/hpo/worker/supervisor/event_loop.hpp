// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace hpo::worker {

/// A moment of an EventLoop's clock.
using Moment = std::chrono::steady_clock::time_point;

[[nodiscard]] inline double seconds_between(Moment earlier, Moment later) { return std::chrono::duration<double>(later - earlier).count(); }

/// An event loop for the workers of one pool, or of several pools whose owner waits for all of them. While one pool waits, the workers of
/// the others are heard, too. All limits of time of its pools are measured by its clock, so a test can set the time.
class EventLoop {
public:
    using Clock = std::function<Moment()>;

    explicit EventLoop(Clock clock = std::chrono::steady_clock::now) : clock_{std::move(clock)} {}
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;

    [[nodiscard]] boost::asio::io_context& context() { return context_; }
    [[nodiscard]] Moment now() const { return clock_(); }

    /// Runs one action once its time has come. Setting it again replaces the action before. It lives no longer than its loop.
    class Timer {
    public:
        explicit Timer(EventLoop& loop) : loop_{loop} { loop_.timers_.push_back(this); }
        Timer(const Timer&) = delete;
        Timer& operator=(const Timer&) = delete;
        ~Timer() { std::erase(loop_.timers_, this); }

        void set(std::chrono::milliseconds delay, std::function<void()> action) { due_ = {loop_.now() + delay, std::move(action)}; }
        void cancel() { due_.reset(); }

    private:
        friend class EventLoop;
        struct Due {
            Moment when;
            std::function<void()> action;
        };
        [[nodiscard]] bool is_due(Moment now) const { return due_ && due_->when <= now; }

        EventLoop& loop_;
        std::optional<Due> due_;
    };

    /// Handles what has happened, without waiting.
    void poll() {
        context_.restart();
        context_.poll();
        while (Timer* const timer = due_timer()) std::exchange(timer->due_, std::nullopt)->action();
    }
    /// Runs until `done()` returns true or the time is over.
    template <class Done>
    void run_until(std::chrono::duration<double> timeout, Done&& done) {
        constexpr std::chrono::milliseconds longest{100};  // `done` may depend on things outside of the loop
        Moment time = now();
        const Moment deadline = time + std::chrono::ceil<Moment::duration>(timeout);
        for (; !done() && time < deadline; time = now()) {
            Moment next = std::min(deadline, time + longest);
            for (const Timer* const timer : timers_) {
                if (timer->due_) next = std::min(next, timer->due_->when);
            }
            context_.restart();
            context_.run_one_for(next - time);
            if (due_timer()) poll();  // a worker that obeyed in time is heard before the limit of its time acts
        }
    }

    std::size_t undelivered = 0;  ///< events of all its pools that Pool::wait has not delivered yet

private:
    [[nodiscard]] Timer* due_timer() const {
        const Moment time = now();
        const auto found = std::ranges::find_if(timers_, [&](const Timer* timer) { return timer->is_due(time); });
        return found == timers_.end() ? nullptr : *found;
    }

    Clock clock_;
    std::vector<Timer*> timers_;  // outlives `context_`, whose handlers own timers
    boost::asio::io_context context_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_{context_.get_executor()};
};

}  // namespace hpo::worker
