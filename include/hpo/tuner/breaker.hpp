// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "hpo/core/trial.hpp"
#include "hpo/failure/signature.hpp"
#include "hpo/failure/traits.hpp"

namespace hpo {

/// Why a breaker ended a run.
struct BreakerTrip {
    std::int64_t failures = 0;  ///< trials that failed in the same way
    std::int64_t of = 0;        ///< the latest finished trials that were looked at
    std::string signature;      ///< of these failures (failure/signature.hpp)
    Failure latest;             ///< the last of them
    std::int64_t trial = 0;     ///< its trial
    std::string tried;          ///< what recovery decided about it
};

/// Ends a run in which trials fail in the same way again and again, whatever their parameters: a trainer that always throws, data that are
/// damaged, a device that is gone. It looks at finished trials in the order in which they end. `in_a_row` equal failures trip it, and also
/// half of the latest 5 * in_a_row trials. Failures that may follow from a trial's parameters alone do not count
/// (FailureTraits::follows_parameters): a sampler learns from those.
class Breaker {
public:
    /// 0: never trips.
    explicit Breaker(std::int64_t in_a_row) : in_a_row_{in_a_row} {}

    /// Call it for each trial of this run that has ended.
    void see(const Trial& trial) {
        if (in_a_row_ <= 0 || trip_) return;
        const Failure* const failure = counted_failure(trial);
        latest_.push_back(failure ? hpo::signature(*failure) : std::string{});
        row_ = failure && latest_.size() > 1 && latest_[latest_.size() - 2] == latest_.back() ? row_ + 1 : failure ? 1 : 0;
        const auto window = static_cast<std::size_t>(5 * in_a_row_);
        if (failure) ++counts_[latest_.back()];
        if (latest_.size() > window) {
            if (const auto gone = counts_.find(latest_.front()); gone != counts_.end() && --gone->second == 0) counts_.erase(gone);
            latest_.pop_front();
        }
        if (!failure) return;
        const std::int64_t equal = counts_[latest_.back()];
        const bool half = latest_.size() == window && 2 * equal >= static_cast<std::int64_t>(window);
        if (row_ < in_a_row_ && !half) return;
        const bool row = row_ >= in_a_row_;
        trip_ = BreakerTrip{.failures = row ? row_ : equal,
                            .of = row ? row_ : static_cast<std::int64_t>(latest_.size()),
                            .signature = latest_.back(),
                            .latest = *failure,
                            .trial = trial.number,
                            .tried = trial.attempts.back().decision};
    }

    [[nodiscard]] const std::optional<BreakerTrip>& trip() const noexcept { return trip_; }

private:
    /// The failure that ended the trial, if it counts. Otherwise null.
    static const Failure* counted_failure(const Trial& trial) {
        if (trial.state != TrialState::fail || trial.attempts.empty() || !trial.attempts.back().failure) return nullptr;
        const Failure& failure = *trial.attempts.back().failure;
        return traits_of(failure).follows_parameters ? nullptr : &failure;
    }

    std::int64_t in_a_row_;
    std::deque<std::string> latest_;              ///< signatures; empty: the trial has no failure that counts
    std::map<std::string, std::int64_t> counts_;  ///< of the signatures in latest_
    std::int64_t row_ = 0;                        ///< equal failures at the end of latest_
    std::optional<BreakerTrip> trip_;
};

}  // namespace hpo
