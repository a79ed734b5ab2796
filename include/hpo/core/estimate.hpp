// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hpo {

/// One addend of an estimate: weights, gradients, optimizer, activations, workspace, held, context, margin.
struct EstimatePart {
    std::string name;
    std::int64_t bytes = 0;
    friend bool operator==(const EstimatePart&, const EstimatePart&) = default;
};

/// A memory guard's prediction of an attempt's peak on its device, in bytes.
struct Estimate {
    std::optional<std::int64_t> need;     ///< least capacity at which it survives; nothing: no opinion
    std::optional<std::int64_t> comfort;  ///< capacity at which the allocator never has to retry
    std::vector<EstimatePart> parts;      ///< what `need` is made of; empty when the guard cannot say
    std::string source;                   ///< the rung that answered: unlimited, limit, formula, ...
    double confidence = 0;                ///< probability that the true need is at most `need`; 0: not claimed
    /// A cap that the worker should enforce on itself whatever the prediction.
    std::optional<std::int64_t> cap_bytes;
};

}  // namespace hpo
