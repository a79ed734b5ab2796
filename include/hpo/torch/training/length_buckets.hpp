// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "hpo/core/seed.hpp"
#include "hpo/torch/task.hpp"

namespace hpo::libtorch {

/// Reorders a shuffled epoch so that examples of similar length meet and little is padded. The examples of each `steps` steps are sorted by
/// length, the longest first, and cut into steps again. These steps get a random order. If `steps` is 1, only the examples inside a step
/// are sorted, and the steps stay those of the shuffled epoch. A short last step stays the last.
template <class LengthOf>
void bucket_by_length(std::vector<std::int64_t>& order, const EpochOrder& epoch, std::int64_t steps, const LengthOf& length_of) {
    const auto stride = static_cast<std::size_t>(epoch.effective_batch);
    const std::size_t window = stride * static_cast<std::size_t>(std::max<std::int64_t>(1, steps));
    const auto at = [&](std::size_t index) { return order.begin() + static_cast<std::ptrdiff_t>(index); };
    Rng rng = epoch.seed.derive("buckets").rng();
    for (std::size_t begin = 0; begin < order.size(); begin += window) {
        const std::size_t end = std::min(begin + window, order.size());
        std::stable_sort(at(begin), at(end), [&](std::int64_t a, std::int64_t b) { return length_of(a) > length_of(b); });
        for (std::size_t step = (end - begin) / stride; step > 1; --step) {
            const auto other = static_cast<std::size_t>(rng.below(step));
            if (other == step - 1) continue;
            std::swap_ranges(at(begin + (step - 1) * stride), at(begin + step * stride), at(begin + other * stride));
        }
    }
}

}  // namespace hpo::libtorch
