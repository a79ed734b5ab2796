// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>

namespace hpo {

/// A moment, UTC.
using Time = std::chrono::sys_time<std::chrono::microseconds>;

[[nodiscard]] inline Time now() { return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now()); }

[[nodiscard]] inline std::int64_t microseconds_since_epoch(Time time) { return time.time_since_epoch().count(); }

[[nodiscard]] inline double seconds_between(Time earlier, Time later) { return std::chrono::duration<double>{later - earlier}.count(); }

/// Sleeps for this time, or shorter if a signal arrives.
inline void sleep_seconds(double seconds) {
    const auto whole = static_cast<std::time_t>(seconds);
    const std::timespec duration{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
    nanosleep(&duration, nullptr);
}

/// Measures the time since its creation with the monotonic clock, which no change of the system time affects.
class Stopwatch {
public:
    [[nodiscard]] double seconds() const { return std::chrono::duration<double>{std::chrono::steady_clock::now() - begin_}.count(); }

private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace hpo
