// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "hpo/core/outcome.hpp"
#include "hpo/space/space_trial.hpp"

namespace hpo {

/// What an objective in this process sees of its trial: it asks for parameters, tells intermediate values, and may be
/// told to stop. Valid only during the call.
class LiveTrial : public SpaceTrial {
public:
    /// Receives a report; true: stop.
    using ReportSink = std::function<bool(const ParamSet&, const Report&)>;

    LiveTrial(ParamSource& source, std::int64_t number, ReportSink sink) : SpaceTrial{source, number}, sink_{std::move(sink)} {}

    /// Tells an intermediate value, once for each step.
    void report(std::int64_t step, double value) { pruned_ = sink_(params(), Report{.step = step, .value = value}) || pruned_; }
    /// True when the trial is not worth finishing; the objective then returns, and its value is ignored.
    [[nodiscard]] bool should_prune() const noexcept { return pruned_; }

private:
    ReportSink sink_;
    bool pruned_ = false;
};

}  // namespace hpo
