// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "hpo/base/inline.hpp"
#include "hpo/torch/meta/staging.hpp"

namespace hpo::libtorch::inline meta {

HPO_INLINE Reduction Reduction::of(const torch::Tensor& input, std::vector<std::int64_t> dimensions) {
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
    Reduction reduction;
    for (const Dimension& each : joined) {
        reduction.sizes.push_back(each.size);
        reduction.input_strides.push_back(each.stride);
        reduction.vanishing += each.vanishes ? 1 : 0;
    }
    reduction.first = input.storage_offset();
    reduction.input_bytes = static_cast<std::int64_t>(input.element_size());
    return reduction;
}

HPO_INLINE Staging staging_of(const Reduction& reduction, const Card& card) {
    constexpr std::int64_t most_threads = 512;  // of a block
    constexpr std::int64_t warp = 32;
    constexpr std::int64_t few_values = 16;  // of a thread
    constexpr std::int64_t many_values = 256;
    const auto over = [](std::int64_t one, std::int64_t other) { return (one + other - 1) / other; };
    const auto power_below = [](std::int64_t number) {
        return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(number, 1))));
    };
    std::int64_t results = 1;
    std::int64_t inputs = 1;
    for (std::size_t i = 0; i < reduction.sizes.size(); ++i) (i < reduction.vanishing ? inputs : results) *= reduction.sizes[i];
    if (reduction.sizes.empty() || inputs == 0 || results == 0) return {};
    const bool along_rows = reduction.vanishing == reduction.sizes.size() ||
                            (reduction.vanishing > 0 && reduction.input_strides[0] < reduction.input_strides[reduction.vanishing]);
    std::int64_t across = along_rows ? inputs : results;
    const std::int64_t down = along_rows ? results : inputs;
    std::int64_t results_at_once = 1;
    if (reduction.input_strides[along_rows ? 0 : reduction.vanishing] == 1) {
        if (along_rows && across >= 128 && reduction.vanishing == 1) {
            across /= reduction.values_at_once;
        } else if (!along_rows) {
            results_at_once = 4;
            const auto divides = [&](std::int64_t number) {
                while (number % results_at_once != 0) results_at_once /= 2;
            };
            divides(reduction.first);
            divides(reduction.sizes[reduction.vanishing]);
            for (std::size_t i = 0; i < reduction.sizes.size(); ++i) {
                if (i != reduction.vanishing) divides(reduction.input_strides[i]);
            }
            across /= results_at_once;
        }
    }
    // A block of threads is `width` by `height`.
    const std::int64_t most = most_threads / results_at_once;
    const std::int64_t widest = across < most ? power_below(across) : most;
    const std::int64_t highest = down < most ? power_below(down) : most;
    const std::int64_t height = std::min(highest, most / std::min(widest, warp));
    const std::int64_t width = std::min(widest, most / height);

    const std::int64_t values_of_row = along_rows ? over(inputs, width) : inputs;
    std::int64_t results_of_block = along_rows ? 1 : width;
    const bool shared_in_block = values_of_row >= std::min(height * few_values, many_values);
    if (!shared_in_block) results_of_block *= height;
    const std::int64_t values = shared_in_block ? over(inputs, (along_rows ? width : 1) * height) : values_of_row;
    const std::int64_t blocks = over(results / results_at_once, results_of_block);
    const std::int64_t room = card.multiprocessors * (card.threads_of_multiprocessor() / (width * height));
    if (!shared_in_block || values < many_values || blocks > room) return {};
    const std::int64_t sharing = std::max(std::min(over(room, blocks), over(values, few_values)), over(values, many_values));
    if (sharing <= 1) return {};
    const std::int64_t parts = along_rows ? 1 : width * results_at_once;
    return {reduction.partial_bytes * results * sharing * parts, 4 * blocks};
}

}  // namespace hpo::libtorch::meta
