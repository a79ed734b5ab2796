// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "hpo/guard/predicted_guard.hpp"
#include "hpo/guard/source_record.hpp"

namespace hpo::guard {

/// Asks a worker for a dry run of the attempt. The worker runs the plugin's own build, steps and evaluation on a device that stores no
/// numbers. It replays their allocations through a model of the device's allocator.
///
/// If the trainer cannot be run dry, the worker probes it. If it cannot be probed either, the estimate is the formula's. A model family
/// whose dry runs were wrong (source_record.hpp) is treated in the same way.
class DryRun : public PredictedGuard {
public:
    static constexpr std::string_view name = "dry_run";
    static constexpr std::string_view summary = "runs the attempt's own steps without numbers and replays what they allocate";
    using PredictedGuard::PredictedGuard;

    [[nodiscard]] Evidence evidence() const { return Evidence::dry_run; }
    [[nodiscard]] Evidence evidence(const MemoryQuery& query) const { return trusted_evidence(evidence(), query); }
};

static_assert(ChoosingGuard<DryRun> && Configurable<DryRun>);

}  // namespace hpo::guard
