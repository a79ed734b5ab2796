// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace hpo {

/// The indices of the values that are not NaN, from the least value to the greatest. Equal values keep their order. O(n log n).
[[nodiscard]] inline std::vector<std::size_t> ascending_order(const std::vector<double>& values) {
    std::vector<std::size_t> order;
    order.reserve(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!std::isnan(values[i])) order.push_back(i);
    }
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return values[a] != values[b] ? values[a] < values[b] : a < b; });
    return order;
}

}  // namespace hpo
