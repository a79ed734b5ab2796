// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/history.hpp"

namespace hpo {

/// How far a policy has read a study that it is asked about again and again. A call looks at what is new, and at trials that had not
/// ended. So what a policy keeps of its trials costs as much as what is new, however long the study is.
class HistoryCursor {
public:
    /// True if the history is that of the last call, or a longer one. Else `restart` and read it from its beginning.
    [[nodiscard]] bool goes_on(const History& history) const {
        return history.study == study_ && history.trials.size() >= trials_ && history.rejections.size() >= rejections_;
    }
    void restart(const History& history) {
        study_ = history.study;
        trials_ = rejections_ = 0;
        open_.clear();
    }

    /// Calls ended(place) for each trial that has ended since, in the order of their numbers among the new ones, and then refused(place)
    /// for each new rejection. The trial that the policy is asked about, `number`, has not ended, whatever its state is.
    template <class Ended, class Refused>
    void advance(const History& history, std::int64_t number, Ended&& ended, Refused&& refused) {
        const auto look_at = [&](std::size_t place) {
            const Trial& trial = history.trials[place];
            if (is_finished(trial.state) && trial.number != number) ended(place);
            else open_.push_back(place);
        };
        for (const std::size_t place : std::exchange(open_, {})) look_at(place);
        for (; trials_ < history.trials.size(); ++trials_) look_at(trials_);
        for (; rejections_ < history.rejections.size(); ++rejections_) refused(rejections_);
    }

    /// Places of the trials that have not ended.
    [[nodiscard]] const std::vector<std::size_t>& open() const noexcept { return open_; }

private:
    std::string study_;
    std::size_t trials_ = 0;
    std::size_t rejections_ = 0;
    std::vector<std::size_t> open_;
};

}  // namespace hpo
