// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hpo/analysis/failure_case.hpp"
#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// What a later attempt of the same plan had of its device beyond one that ran out of what it had.
struct LargerShare {
    std::int64_t had_bytes = 0;           ///< the cap that was met
    std::optional<std::int64_t> bytes{};  ///< the later one's cap, where it had one that is known
    bool all = false;                     ///< the later one had none

    /// "56.05 MiB instead of 36.79 MiB".
    [[nodiscard]] std::string text() const;
};

/// What `later` had of its device beyond the failed attempt, which met a cap that is not of its plan: the one of what it was promised.
/// Nothing unless plan and parameters are the same.
///
/// Design note: the readings of a metered device tell a worker's cap, the first one that of the promise. Those of a GPU do not, only the
/// message of the failure does: an attempt of the same plan that came after it had more, and how much more is not known.
[[nodiscard]] std::optional<LargerShare> larger_share(const FailureCase& entry, const Attempt& later);

/// Whether the attempt after the failed one had a larger share of the device and nothing else: no rule need answer such a failure.
[[nodiscard]] bool got_larger_share(const FailureCase& entry);

}  // namespace hpo::analysis

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/device_share_inl.hpp"
#endif
