// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/core/fields.hpp"

namespace hpo {

/// One summand of an estimate: weights, gradients, optimizer, activations, workspace, held, context, margin.
struct EstimatePart {
    std::string name;
    std::int64_t bytes = 0;
    friend bool operator==(const EstimatePart&, const EstimatePart&) = default;

    static constexpr void fields(auto field) {
        field("name", &EstimatePart::name);
        field("bytes", &EstimatePart::bytes);
    }
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

    static constexpr void fields(auto field) {
        field("need", &Estimate::need, {.unit = Unit::bytes, .key = "predicted_bytes"});
        field("comfort", &Estimate::comfort, {.unit = Unit::bytes});
        field("parts", &Estimate::parts, {.key = "estimate_parts"});
        field("source", &Estimate::source, {.key = "predicted_by", .column = "estimate_source"});
        field("confidence", &Estimate::confidence, {.key = "estimate_confidence"});
        field("cap_bytes", &Estimate::cap_bytes, {.unit = Unit::bytes, .key = "estimate_cap_bytes"});
    }
};

}  // namespace hpo
