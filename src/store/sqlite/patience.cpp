// SPDX-License-Identifier: MIT
#include "hpo/store/sqlite/patience.hpp"

#include <sqlite3.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "hpo/base/wait_until.hpp"

namespace hpo::store {

bool Patience::wait_for_lock(int tries, const std::function<std::string()>& holders) {
    if (tries == 0 && !has_told_) since_.reset();  // another wait
    const auto what = [&] {
        const std::string names = holders ? holders() : std::string{};
        return "is locked by " + (names.empty() ? "another process" : names);
    };
    if (!goes_on(options_.busy_timeout, what)) return false;
    static thread_local unsigned jitter =
        static_cast<unsigned>(std::hash<std::thread::id>{}(std::this_thread::get_id())) ^ static_cast<unsigned>(getpid());
    jitter = jitter * 1664525U + 1013904223U;
    // A short random time: a writer holds the lock for well below a millisecond, and with longer waits some of many would starve. Only a
    // lock that is held for seconds is asked for more rarely.
    const unsigned ceiling = since_->seconds() < 1 ? 200U * static_cast<unsigned>(std::min(tries + 1, 25)) : 50'000U;  // microseconds
    std::this_thread::sleep_for(std::chrono::microseconds{50 + (jitter >> 8U) % ceiling});
    return true;
}

bool Patience::wait_for_failure(const std::string& what) {
    if (options_.failure_timeout.count() <= 0) return false;
    constexpr double least = 0.1;
    constexpr double most = 5;
    pause_seconds_ = since_ && pause_seconds_ > 0 ? std::min(2 * pause_seconds_, most) : least;
    const auto told = [&] { return what; };
    // In short pieces, so that a person who wants to leave need not wait.
    const auto is_given_up = [&] { return !goes_on(options_.failure_timeout, told); };
    return !wait_until(is_given_up, {.most_seconds = pause_seconds_, .pause_seconds = 0.05});
}

bool Patience::can_pass(int extended_code) noexcept {
    const int code = extended_code & 0xFF;
    return code == SQLITE_FULL || (code == SQLITE_IOERR && extended_code != SQLITE_IOERR_NOMEM && extended_code != SQLITE_IOERR_CORRUPTFS);
}

bool Patience::goes_on(std::chrono::milliseconds most, const std::function<std::string()>& what) {
    if (!since_) since_.emplace();
    if (in_vain_) most = std::min(most, options_.told_after);
    const std::chrono::milliseconds waited{static_cast<std::int64_t>(since_->seconds() * 1000)};
    if (waited <= most && waited < options_.told_after) return true;
    if (waited > most || (options_.gives_up && options_.gives_up())) {
        waited_ = std::min(waited, most);
        in_vain_ = true;
        since_.reset();
        return false;
    }
    if (std::exchange(has_told_, true)) return true;
    if (options_.tell)
        options_.tell(place_ + what() + "; waits at most " + std::to_string((most.count() + 999) / 1000) + " s for that to pass");
    return true;
}

void Patience::end_wait() {
    const std::string after = since_ ? " after " + std::to_string(static_cast<long>(since_->seconds())) + " s" : "";
    since_.reset();
    const bool was_in_vain = std::exchange(in_vain_, false);  // then a call that needs less, such as a read, tells nothing of the next
    pause_seconds_ = 0;
    if (std::exchange(has_told_, false) && !was_in_vain && options_.tell) options_.tell(place_ + "can be used again" + after);
}

void Patience::tell_stall(double seconds) {
    if (seconds < 2 * told_stall_seconds_) return;
    told_stall_seconds_ = seconds;
    if (options_.tell)
        options_.tell(place_ + "one call took " + std::to_string(static_cast<long>(seconds)) +
                      " s: its file system is slow, or stood still");
}

}  // namespace hpo::store
