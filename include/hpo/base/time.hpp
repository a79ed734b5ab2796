// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstdint>
#include <ctime>

namespace hpo {

/// A moment, UTC.
///
/// Design note: <chrono> costs every program that includes the core 0.2 s of compile time. So moments and durations of the core and the
/// tuner are plain numbers with their unit in the name.
struct Time {
    std::int64_t microseconds = 0;  ///< since the epoch
    friend auto operator<=>(const Time&, const Time&) = default;
};

namespace time_detail {
[[nodiscard]] inline std::int64_t microseconds_of(clockid_t clock) {
    std::timespec moment{};
    clock_gettime(clock, &moment);
    return std::int64_t{moment.tv_sec} * 1'000'000 + moment.tv_nsec / 1'000;
}
}  // namespace time_detail

[[nodiscard]] inline Time now() { return {time_detail::microseconds_of(CLOCK_REALTIME)}; }

[[nodiscard]] inline double seconds_between(Time earlier, Time later) {
    return static_cast<double>(later.microseconds - earlier.microseconds) / 1e6;
}

/// Sleeps for this time, or shorter if a signal arrives.
inline void sleep_seconds(double seconds) {
    const auto whole = static_cast<std::time_t>(seconds);
    const std::timespec duration{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
    nanosleep(&duration, nullptr);
}

/// Measures the time since its creation with the monotonic clock, which no change of the system time affects.
class Stopwatch {
public:
    [[nodiscard]] double seconds() const { return static_cast<double>(time_detail::microseconds_of(CLOCK_MONOTONIC) - begin_) / 1e6; }

private:
    std::int64_t begin_ = time_detail::microseconds_of(CLOCK_MONOTONIC);
};

}  // namespace hpo
