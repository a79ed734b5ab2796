// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "hpo/core/trial.hpp"
#include "hpo/failure/rule_failure.hpp"
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
    std::string device{};       ///< the only one on which they failed; empty: there were several
};

/// Ends a run in which trials fail in the same way again and again, whatever their parameters: a trainer that always throws, data that are
/// damaged, a device that is gone. It looks at finished trials in the order in which they end. `in_a_row` equal failures trip it, and also
/// half of the latest 5 * in_a_row trials. Failures that may follow from a trial's parameters alone do not count
/// (FailureTraits::follows_parameters): a sampler learns from those.
class Breaker {
public:
    /// 0: never trips. `counts` is false for failures that the caller lets pass; if it is not set, there are none.
    explicit Breaker(std::int64_t in_a_row, std::function<bool(const Failure&)> counts = {})
        : in_a_row_{in_a_row}, counts_failure_{std::move(counts)} {}

    /// Call it for each trial of this run that has ended.
    void see(const Trial& trial) {
        if (in_a_row_ <= 0 || trip_) return;
        const std::optional<Failure> failure = counted_failure(trial);
        latest_.push_back(failure ? Ended{hpo::signature(*failure), trial.attempts.back().plan.device} : Ended{});
        const std::string& signature = latest_.back().signature;
        row_ = failure && latest_.size() > 1 && latest_[latest_.size() - 2].signature == signature ? row_ + 1 : failure ? 1 : 0;
        const auto window = static_cast<std::size_t>(5 * in_a_row_);
        if (failure) ++counts_[signature];
        if (latest_.size() > window) {
            if (const auto gone = counts_.find(latest_.front().signature); gone != counts_.end() && --gone->second == 0)
                counts_.erase(gone);
            latest_.pop_front();
        }
        if (!failure) return;
        const std::int64_t equal = counts_[signature];
        const bool half = latest_.size() == window && 2 * equal >= static_cast<std::int64_t>(window);
        if (row_ < in_a_row_ && !half) return;
        const bool row = row_ >= in_a_row_;
        const std::int64_t of = row ? row_ : static_cast<std::int64_t>(latest_.size());
        trip_ = BreakerTrip{.failures = row ? row_ : equal,
                            .of = of,
                            .signature = signature,
                            .latest = *failure,
                            .trial = trial.number,
                            .tried = rule_failure(trial) ? std::string{} : trial.attempts.back().decision,
                            .device = only_device(of)};
    }

    [[nodiscard]] const std::optional<BreakerTrip>& trip() const noexcept { return trip_; }

private:
    struct Ended {
        std::string signature{};  ///< empty: the trial has no failure that counts
        std::string device{};     ///< of its last attempt
    };

    /// The device of all failures among the latest `of` that equal the last one, or an empty text.
    [[nodiscard]] std::string only_device(std::int64_t of) const {
        const Ended& last = latest_.back();
        const bool only = std::all_of(latest_.end() - of, latest_.end(),
                                      [&](const Ended& each) { return each.signature != last.signature || each.device == last.device; });
        return only ? last.device : std::string{};
    }
    /// The failure that ended the trial, if it counts. If the rule that was asked about it failed itself, that is the failure.
    [[nodiscard]] std::optional<Failure> counted_failure(const Trial& trial) const {
        if (trial.state != TrialState::fail || trial.attempts.empty() || !trial.attempts.back().failure) return std::nullopt;
        std::optional<Failure> failure = rule_failure(trial);
        if (!failure) failure = trial.attempts.back().failure;
        if (traits_of(*failure).follows_parameters || (counts_failure_ && !counts_failure_(*failure))) return std::nullopt;
        return failure;
    }

    std::int64_t in_a_row_;
    std::function<bool(const Failure&)> counts_failure_;
    std::deque<Ended> latest_;                    ///< the oldest first
    std::map<std::string, std::int64_t> counts_;  ///< of the signatures in latest_
    std::int64_t row_ = 0;                        ///< equal failures at the end of latest_
    std::optional<BreakerTrip> trip_;
};

}  // namespace hpo
