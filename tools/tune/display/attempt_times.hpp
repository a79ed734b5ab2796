// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "support/text.hpp"
#include "tune/display/text.hpp"

namespace hpo::tune {

/// Learns from attempts that reached their end how long one takes, and finds running ones that take far longer.
class AttemptTimes {
public:
    static constexpr std::int64_t least_known = 10;  ///< attempts
    static constexpr double most_times = 5;          ///< the longest of them
    static constexpr double least_seconds = 60;

    void ended(double seconds) {
        ++known_;
        longest_ = std::max(longest_, seconds);
    }
    /// A warning about an attempt of a trial that has run for so long. Nothing if it is not overlong, or if the trial was warned of before.
    [[nodiscard]] std::optional<std::string> warning(std::int64_t trial, double seconds) {
        if (known_ < least_known || seconds < std::max(least_seconds, most_times * longest_) || !warned_.insert(trial).second)
            return std::nullopt;
        return "trial " + std::to_string(trial) + " has run for " + duration(seconds) + ", and the longest of " + std::to_string(known_) +
               " complete attempts took " + duration(longest_) + ": it may hang; --attempt-time ends such attempts";
    }

private:
    std::int64_t known_ = 0;
    double longest_ = 0;  ///< seconds
    std::set<std::int64_t> warned_;
};

}  // namespace hpo::tune
