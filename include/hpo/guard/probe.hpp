// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "hpo/guard/predicted_guard.hpp"
#include "hpo/guard/source_record.hpp"

namespace hpo::guard {

/// Asks a worker for a probe of the attempt. The worker runs a few small real steps, extrapolates their allocations to the plan's sizes,
/// and replays these through a model of the device's allocator. For trainers whose dry run does not see all that the kernels take.
class Probe : public PredictedGuard {
public:
    static constexpr std::string_view name = "probe";
    static constexpr std::string_view summary = "runs a few small real steps of the attempt and extrapolates what they allocate";
    using PredictedGuard::PredictedGuard;

    [[nodiscard]] Evidence evidence() const { return Evidence::probe; }
    [[nodiscard]] Evidence evidence(const MemoryQuery& query) const { return trusted_evidence(evidence(), query); }
};

static_assert(ChoosingGuard<Probe> && Configurable<Probe>);

}  // namespace hpo::guard
