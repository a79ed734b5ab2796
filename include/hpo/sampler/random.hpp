// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "hpo/core/field.hpp"
#include "hpo/sampler/concept.hpp"
#include "hpo/sampler/uniform.hpp"

namespace hpo::sampler {

/// Draws each parameter uniformly and independently; ignores history.
class Random {
public:
    static constexpr std::string_view name = "random";
    static constexpr std::string_view summary = "draws every parameter uniformly, on its own scale";
    using Config = NoConfig;
    static constexpr void fields(auto /*field*/) {}

    Random() = default;
    explicit Random(Config /*config*/) {}

    [[nodiscard]] double suggest(const Ask& ask) const { return draw_uniform(ask.distribution, ask.within, ask.rng); }
};

static_assert(Sampler<Random> && Configurable<Random>);

}  // namespace hpo::sampler
