// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "hpo/worker/supervisor/event_loop.hpp"
#include "support/eventually.hpp"
#include "support/pool.hpp"

namespace hpo::test {

/// The clock of a pool. It stands still until a test sets it forward, so that no limit of time is reached by chance, and none is waited
/// for.
class SetClock {
public:
    SetClock() = default;
    SetClock(const SetClock&) = delete;
    SetClock& operator=(const SetClock&) = delete;

    /// For PoolConfig::loop.
    [[nodiscard]] std::shared_ptr<worker::EventLoop> loop() const { return loop_; }

    /// Sets the clock forward while nobody looks at the workers.
    void advance(std::chrono::milliseconds time) { now_ += time; }

    /// Lets time pass while the pool looks at its workers.
    void pass(Executor& pool, Record& record, std::chrono::milliseconds time) {
        constexpr std::chrono::milliseconds step{100};  // the pool excuses a longer one
        for (; time.count() > 0; time -= step) {
            advance(std::min(time, step));
            pool.wait(record, 0);
        }
    }
    /// As hpo::test::wait_until, while the clock stands still.
    template <class F>
    [[nodiscard]] bool wait_until(Executor& pool, Record& record, F&& done) {
        return eventually(done, 120s, [&] {
            pool.wait(record, 0);
            std::this_thread::sleep_for(1ms);
        });
    }
    /// As hpo::test::run, while the clock stands still.
    [[nodiscard]] AttemptOutcome run(Executor& pool, const Job& job) {
        Record record;
        pool.submit(job, record);
        if (!wait_until(pool, record, [&] { return record.ended > 0; })) return {.failure = Failure{.message = "test: no end came"}};
        return record.ends.at(job.trial).at(0);
    }
    /// Waits until a trial's worker has begun with it.
    [[nodiscard]] bool wait_until_started(Executor& pool, Record& record, std::int64_t trial) {
        return wait_until(pool, record, [&] { return record.pids.contains(trial); });
    }

    /// Sets the clock forward once the next call of the pool that waits for an answer has begun to wait.
    void advance_in_next_wait(std::chrono::milliseconds time) {
        in_next_wait_ = time;
        looks_ = 0;
    }

private:
    worker::Moment look() {
        constexpr int looks_before_it_waits = 8;  // the pool looks fewer times until it knows how long to wait
        if (in_next_wait_.count() > 0 && ++looks_ > looks_before_it_waits) advance(std::exchange(in_next_wait_, {}));
        return now_;
    }

    worker::Moment now_ = std::chrono::steady_clock::now();
    std::chrono::milliseconds in_next_wait_{};
    int looks_ = 0;
    std::shared_ptr<worker::EventLoop> loop_ = std::make_shared<worker::EventLoop>([this] { return look(); });
};

}  // namespace hpo::test
