// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "hpo/guard/predicted_guard.hpp"
#include "hpo/guard/source_record.hpp"

namespace hpo::guard {

/// Asks a worker to train a few steps of the attempt on a virtual card: LibTorch's own CUDA code, in a process whose CUDA driver owns no
/// GPU. It needs a trainer that is built for CUDA, and a plan for CUDA.
///
/// If there is no such card, or it cannot tell, the same is asked as for DryRun.
class VirtualCard : public PredictedGuard {
public:
    static constexpr std::string_view name = "virtual_card";
    static constexpr std::string_view summary = "runs a few steps of the attempt with LibTorch's own CUDA code, without a GPU";
    using PredictedGuard::PredictedGuard;

    [[nodiscard]] Evidence evidence() const { return Evidence::virtual_card; }
    [[nodiscard]] Evidence evidence(const MemoryQuery& query) const { return trusted_evidence(evidence(), query); }
};

static_assert(ChoosingGuard<VirtualCard> && Configurable<VirtualCard>);

}  // namespace hpo::guard
