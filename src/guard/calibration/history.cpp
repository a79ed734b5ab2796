// SPDX-License-Identifier: MIT
#include "hpo/guard/calibration/history.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace hpo::guard {

const ResidualPosterior& ResidualHistory::after(const History& history, const std::string& pool) {
    advance(history);
    latest_.reset();
    for (std::size_t i = folded_; i < history.trials.size(); ++i) {
        each_residual(history.trials[i], [&](const Residual& residual) {
            if (residual.group.pool != pool) return;
            if (!latest_) latest_ = posterior(pool);
            latest_->observe(residual.group.family, residual.log_ratio, residual.censored);
        });
    }
    return latest_ ? *latest_ : posterior(pool);
}

ResidualHistory::Mark ResidualHistory::mark_of(const Trial& trial) {
    const bool ran = !trial.attempts.empty();
    return {trial.id, trial.state, trial.completed, trial.attempts.size(),
            ran ? trial.attempts.back().peak_allocated : std::optional<std::int64_t>{}};
}

template <class Visit>
void ResidualHistory::each_residual(const Trial& trial, const Visit& visit) {
    for (const Attempt& attempt : trial.attempts) {
        if (const auto residual = residual_of(trial, attempt)) visit(*residual);
    }
}

void ResidualHistory::advance(const History& history) {
    const Past past = past_of(history);
    const bool goes_on = history.study == study_ && past == past_ && folded_ <= history.trials.size() &&
                         (folded_ == 0 || (mark_of(history.trials[0]) == first_ && mark_of(history.trials[folded_ - 1]) == last_));
    if (!goes_on) {
        posteriors_.clear();
        folded_ = 0;
        study_ = history.study;
        past_ = past;
        for (const Attempt& attempt : history.other_studies) {
            if (const auto residual = residual_of(ParamSet{}, attempt)) observe(*residual);
        }
    }
    for (; folded_ < history.trials.size() && is_finished(history.trials[folded_].state); ++folded_) {
        const Trial& trial = history.trials[folded_];
        if (folded_ == 0) first_ = mark_of(trial);
        last_ = mark_of(trial);
        each_residual(trial, [&](const Residual& residual) { observe(residual); });
    }
}

}  // namespace hpo::guard
