// SPDX-License-Identifier: MIT
#include "hpo/allocator/reduction_staging.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace hpo::allocator {

Staging staging_of(const Reduction& reduction, const CardThreads& card) {
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
    const std::int64_t room = card.multiprocessors * (card.threads_of_multiprocessor / (width * height));
    if (!shared_in_block || values < many_values || blocks > room) return {};
    const std::int64_t sharing = std::max(std::min(over(room, blocks), over(values, few_values)), over(values, many_values));
    if (sharing <= 1) return {};
    const std::int64_t parts = along_rows ? 1 : width * results_at_once;
    return {reduction.partial_bytes * results * sharing * parts, 4 * blocks};
}

}  // namespace hpo::allocator
