// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "hpo/core/field.hpp"
#include "hpo/guard/concept.hpp"

namespace hpo::guard {

/// Makes no estimate. Every attempt is launched, and out-of-memory failures are handled when they happen.
class Unlimited {
public:
    static constexpr std::string_view name = "unlimited";
    static constexpr std::string_view summary = "launches everything and predicts nothing";
    using Config = NoConfig;
    static constexpr void fields(auto /*field*/) {}

    Unlimited() = default;
    explicit Unlimited(Config /*config*/) {}

    [[nodiscard]] Estimate estimate(const MemoryQuery& /*query*/) const {
        Estimate estimate;
        estimate.source = name;
        return estimate;
    }
    [[nodiscard]] Evidence evidence() const { return Evidence::none; }
};

static_assert(MemoryGuard<Unlimited> && Configurable<Unlimited>);

}  // namespace hpo::guard
