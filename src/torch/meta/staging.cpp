// SPDX-License-Identifier: MIT
#include "torch/meta/staging.hpp"

#include <torch/torch.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hpo::libtorch {

allocator::Reduction reduction_of(const torch::Tensor& input, std::vector<std::int64_t> dimensions) {
    const std::int64_t count = input.dim();
    if (count == 0) return {};
    std::vector<bool> vanishes(static_cast<std::size_t>(count), dimensions.empty());
    for (const std::int64_t each : dimensions) vanishes[static_cast<std::size_t>(each < 0 ? each + count : each)] = true;
    struct Dimension {
        std::int64_t size, stride, of_result;  // of_result: the stride in the result, 0 if it vanishes
        bool vanishes;
    };
    std::vector<Dimension> all;
    std::int64_t of_result = 1;
    for (std::int64_t i = count - 1; i >= 0; --i) {  // the last is usually the fastest
        const bool gone = vanishes[static_cast<std::size_t>(i)];
        all.push_back({input.size(i), input.stride(i), gone ? 0 : of_result, gone});
        if (!gone) of_result *= input.size(i);
    }
    std::stable_sort(all.begin(), all.end(), [](const Dimension& one, const Dimension& other) {
        if (one.vanishes != other.vanishes) return one.vanishes;
        return one.vanishes ? one.stride < other.stride : one.of_result < other.of_result;
    });
    std::vector<Dimension> joined;
    for (const Dimension& each : all) {
        if (each.size == 1 && !joined.empty()) continue;
        if (!joined.empty()) {
            Dimension& last = joined.back();
            if (last.size == 1) {
                last = each;
                continue;
            }
            const bool together = last.size * last.stride == each.stride && last.size * last.of_result == each.of_result;
            if (together && last.vanishes == each.vanishes) {
                last.size *= each.size;
                continue;
            }
        }
        joined.push_back(each);
    }
    allocator::Reduction reduction;
    for (const Dimension& each : joined) {
        reduction.sizes.push_back(each.size);
        reduction.input_strides.push_back(each.stride);
        reduction.vanishing += each.vanishes ? 1 : 0;
    }
    reduction.first = input.storage_offset();
    reduction.input_bytes = static_cast<std::int64_t>(input.element_size());
    return reduction;
}

}  // namespace hpo::libtorch
