// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "hpo/base/time.hpp"

namespace hpo::store {

/// How a store waits for trouble that can pass, and whom it tells.
struct PatienceOptions {
    std::chrono::milliseconds busy_timeout{10'000};   ///< for other writers
    std::chrono::milliseconds failure_timeout{0};     ///< for a full disk or a file system that fails; 0: not at all
    std::chrono::milliseconds told_after{2'000};      ///< shorter waits are not told
    std::chrono::milliseconds stalled_after{10'000};  ///< a call that took longer, without such a wait, is told afterwards
    std::function<void(const std::string&)> tell{};   ///< is told once when a wait is long, and once when it is over; may be empty
    std::function<bool()> gives_up{};                 ///< asked once a wait was told; true: the call fails then; may be empty
};

/// The waits of one connection. This class alone decides what is waited for, how long, and in which pauses. Its functions sleep. After a
/// wait in vain, calls wait for no more than `told_after` until one succeeds: so a caller that gives up need not wait again and again.
/// Thread safety: one thread per object.
class Patience {
public:
    Patience(std::string place, PatienceOptions options) : place_{std::move(place)}, options_{std::move(options)} {}

    [[nodiscard]] const PatienceOptions& options() const noexcept { return options_; }

    /// Pauses before the `tries`-th look at a lock, from 0. Returns false if the wait has lasted long enough. `holders` names the processes
    /// that hold the lock.
    [[nodiscard]] bool wait_for_lock(int tries, const std::function<std::string()>& holders);
    /// Pauses after a failure that can pass, such as SQLITE_FULL. Returns false if the call must fail. `what` is told.
    [[nodiscard]] bool wait_for_failure(const std::string& what);
    /// True for an SQLite result that can pass without a change of the call: the disk is full, or reading or writing failed.
    [[nodiscard]] static bool can_pass(int extended_code) noexcept;
    /// A call has succeeded, and took so long. A file system that stalls lets nobody speak before it answers, so it is told of afterwards.
    void succeeded(double seconds) {
        if (since_ || in_vain_) end_wait();
        else if (seconds * 1000 > static_cast<double>(options_.stalled_after.count())) tell_stall(seconds);
    }
    /// How long the latest call that failed has waited.
    [[nodiscard]] std::chrono::milliseconds waited() const noexcept { return waited_; }

private:
    /// Tells of it, unless one as long was told of already.
    void tell_stall(double seconds);
    /// Begins the wait if there is none. Tells of it if it is long. Returns false if it is over.
    [[nodiscard]] bool goes_on(std::chrono::milliseconds most, const std::function<std::string()>& what);
    void end_wait();

    std::string place_;
    PatienceOptions options_;
    std::optional<Stopwatch> since_;  ///< the begin of the wait
    bool has_told_ = false;           ///< of this wait
    bool in_vain_ = false;            ///< the latest wait was too short, and no call has succeeded since
    std::chrono::milliseconds waited_{};
    double told_stall_seconds_ = 0;
    double pause_seconds_ = 0;  ///< the latest after a failure
};

}  // namespace hpo::store
