// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/base/shortened_log.hpp"
#include "hpo/core/outcome.hpp"
#include "hpo/space/space_trial.hpp"

namespace hpo {

/// What an objective in this process sees of its trial. It asks for parameters, tells intermediate values, and may be told to stop. Valid
/// only during the call.
class LiveTrial : public SpaceTrial {
public:
    /// Receives a report. Returns true if the trial should stop.
    using ReportSink = std::function<bool(const ParamSet&, const Report&)>;

    LiveTrial(ParamSource& source, std::int64_t number, ReportSink sink) : SpaceTrial{source, number}, sink_{std::move(sink)} {}

    /// Call it before the report of the last step. The trial is then not pruned at that step.
    void last_step(std::int64_t step) noexcept { last_step_ = step; }
    /// Tells an intermediate value, once for each step.
    void report(std::int64_t step, double value) {
        pruned_ = sink_(params(), Report{.step = step, .value = value, .is_last = step == last_step_}) || pruned_;
    }
    /// Adds a line to the trial's log, which `hpo-analyze trial` shows.
    void log(std::string_view line) { log_.add_line(line); }
    [[nodiscard]] std::string take_log() { return std::exchange(log_, ShortenedLog{}).text(); }
    /// True if the trial is not worth finishing. The objective should then return. Its value is ignored.
    [[nodiscard]] bool should_prune() const noexcept {
        told_ = pruned_;
        return pruned_;
    }
    /// True if `should_prune` has told the objective to stop. An objective that never asked counts as run to its end.
    [[nodiscard]] bool was_told_to_stop() const noexcept { return told_; }

private:
    ReportSink sink_;
    std::optional<std::int64_t> last_step_;
    ShortenedLog log_;
    bool pruned_ = false;
    mutable bool told_ = false;
};

}  // namespace hpo
