// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hpo/analysis/failure_cases/failure_case.hpp"
#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// The larger share of the device that a later attempt of the same plan had. The earlier one ran out of its own share.
struct LargerShare {
    std::int64_t had_bytes = 0;           ///< the cap that the failed attempt met
    std::optional<std::int64_t> bytes{};  ///< the later attempt's cap, if it had one and it is known
    bool all = false;                     ///< the later attempt had no cap

    /// "56.05 MiB instead of 36.79 MiB".
    [[nodiscard]] std::string text() const;
};

/// The share by which `later` had more of its device than the failed attempt. That attempt met the cap of its reservation, not a cap of its
/// plan. Returns nullopt unless plan and parameters are the same.
///
/// Design note: on a metered device the readings show a worker's cap, and the first one shows the reservation's. On a GPU only the
/// failure's message shows a cap. There, a later attempt of the same plan had more, but how much more is not known.
[[nodiscard]] std::optional<LargerShare> larger_share(const FailureCase& entry, const Attempt& later);

/// Whether the next attempt had a larger share of the device and was otherwise the same. No rule needs to answer such a failure.
[[nodiscard]] bool got_larger_share(const FailureCase& entry);

}  // namespace hpo::analysis
