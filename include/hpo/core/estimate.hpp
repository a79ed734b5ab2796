// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hpo {

/// One summand of an estimate: weights, gradients, optimizer, activations, workspace, held, context, margin.
struct EstimatePart {
    std::string name;
    std::int64_t bytes = 0;
    friend bool operator==(const EstimatePart&, const EstimatePart&) = default;
};

/// A memory guard's estimate of an attempt's peak on its device, in bytes.
struct Estimate {
    std::optional<std::int64_t> need;     ///< least capacity at which the attempt survives; nullopt: not estimated
    std::optional<std::int64_t> comfort;  ///< capacity at which the allocator never has to retry
    std::vector<EstimatePart> parts;      ///< the summands of `need`; empty if the guard does not know them
    std::string source;                   ///< what the estimate comes from: unlimited, limit, formula, dry_run, ...
    double confidence = 0;                ///< probability that the true need is at most `need`; 0: not claimed
    /// A cap that the worker enforces on its own device memory, whatever the estimate.
    std::optional<std::int64_t> cap_bytes;
};

}  // namespace hpo
