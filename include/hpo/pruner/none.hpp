// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "hpo/core/field.hpp"
#include "hpo/pruner/concept.hpp"

namespace hpo::pruner {

/// Lets every trial run to its end.
class None {
public:
    static constexpr std::string_view name = "none";
    static constexpr std::string_view summary = "never prunes";
    using Config = NoConfig;
    static constexpr void fields(auto /*field*/) {}

    None() = default;
    explicit None(Config /*config*/) {}

    [[nodiscard]] Verdict judge(const PruneQuery& /*query*/) const { return {}; }
};

static_assert(Pruner<None> && Configurable<None>);

}  // namespace hpo::pruner
