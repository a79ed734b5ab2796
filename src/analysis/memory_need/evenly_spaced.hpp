// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace hpo::analysis {

/// At most `most` elements, evenly spaced and in their order. All of them if there are no more.
template <class T>
[[nodiscard]] std::vector<T> evenly_spaced(std::span<const T> all, std::size_t most) {
    const std::size_t count = std::min(all.size(), most);
    std::vector<T> spaced;
    spaced.reserve(count);
    for (std::size_t i = 0; i < count; ++i) spaced.push_back(all[i * all.size() / count]);
    return spaced;
}

}  // namespace hpo::analysis
