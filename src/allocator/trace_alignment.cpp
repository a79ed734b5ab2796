// SPDX-License-Identifier: MIT
#include "allocator/trace_alignment.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"

namespace hpo::allocator {
namespace law_detail {

/// What a block is known by, whatever the sizes.
struct BlockMark {
    std::size_t block = 0;
    std::size_t scope = 0;
    std::size_t lifetime = 0;  ///< blocks taken while it lives, without staged ones; long ones count as equal
    double bytes = 0;
};

class BlockMarks {
public:
    /// Those that are not staged.
    [[nodiscard]] std::vector<BlockMark> of(const AllocationTrace& trace, const std::vector<bool>& is_staged) {
        constexpr std::size_t long_lifetime = 40;
        std::vector<BlockMark> marks;
        std::vector<std::size_t> place(trace.blocks.size());
        for (std::size_t i = 0; i < trace.blocks.size(); ++i) {
            place[i] = marks.size();
            if (is_staged[i]) continue;
            const std::size_t number = numbers_.size();
            const std::size_t scope = numbers_.try_emplace(trace.scopes[trace.blocks[i].scope], number).first->second;
            marks.push_back({i, scope, long_lifetime, static_cast<double>(trace.blocks[i].bytes)});
        }
        std::size_t taken = 0;
        for (const std::int64_t event : trace.events) {
            const std::size_t block = AllocationTrace::block_of(event);
            if (is_staged[block]) continue;
            if (event >= 0) ++taken;
            else marks[place[block]].lifetime = std::min(long_lifetime, taken - 1 - place[block]);
        }
        return marks;
    }

private:
    std::map<std::string_view, std::size_t> numbers_;
};

/// How well two blocks match. The sorted ratios are those that sizes of this program may have.
[[nodiscard]] inline float match(const BlockMark& one, const BlockMark& other, const std::vector<double>& ratios) {
    constexpr double exact = 1e-9;
    float score = one.lifetime == other.lifetime ? 2.0F : 1.0F;
    const double ratio = other.bytes / one.bytes;
    const auto near = std::ranges::lower_bound(ratios, ratio * (1 - exact));
    if (near != ratios.end() && *near <= ratio * (1 + exact)) return score + 2.5F;
    constexpr double slack = 0.01;
    const bool possible = ratio >= ratios.front() * (1 - slack) && ratio <= ratios.back() * (1 + slack);
    return score + (possible ? 0.5F : -1.5F);
}

}  // namespace law_detail

std::vector<bool> staged_blocks(const AllocationTrace& trace) {
    std::vector<bool> is_staged(trace.blocks.size());
    const std::vector<std::int64_t>& events = trace.events;
    for (std::size_t i = 0; i + 3 < events.size(); ++i) {
        const std::int64_t buffer = events[i];
        if (buffer < 1 || events[i + 1] != buffer + 1 || events[i + 2] != -2 - buffer || events[i + 3] != -1 - buffer) continue;
        const auto block = static_cast<std::size_t>(buffer);
        if (trace.blocks[block + 1].bytes < trace.blocks[block].bytes) is_staged[block] = is_staged[block + 1] = true;
    }
    return is_staged;
}

std::vector<std::optional<std::size_t>> aligned_blocks(const AllocationTrace& one, const AllocationTrace& other,
                                                       std::vector<double> ratios) {
    std::ranges::sort(ratios);
    law_detail::BlockMarks marks;
    const std::vector<bool> left_staged = staged_blocks(one);
    const std::vector<bool> right_staged = staged_blocks(other);
    const std::vector<law_detail::BlockMark> left = marks.of(one, left_staged);
    const std::vector<law_detail::BlockMark> right = marks.of(other, right_staged);
    const auto rows = static_cast<std::int64_t>(left.size());
    const auto columns = static_cast<std::int64_t>(right.size());
    const std::int64_t reach = 512 + std::abs(rows - columns);
    const auto width = static_cast<std::size_t>(2 * reach + 1);
    constexpr std::size_t most_steps = std::size_t{1} << 28U;
    if (left.size() + 1 > most_steps / width)
        throw Error{Errc::usage, "it takes " + std::to_string(rows) + " blocks in one run and " + std::to_string(columns) + " in another"};
    enum Step : std::uint8_t { skip_left, skip_right, pair };
    // Column j of row i is at place j - i + reach of its band.
    std::vector<std::uint8_t> steps(static_cast<std::size_t>(rows + 1) * width, skip_left);
    std::vector<float> above(width, -1);
    std::vector<float> here(width, -1);
    const auto place = [&](std::int64_t i, std::int64_t j) { return static_cast<std::size_t>(j - i + reach); };
    for (std::int64_t i = 0; i <= rows; ++i) {
        std::ranges::fill(here, -1.0F);
        for (std::int64_t j = std::max<std::int64_t>(0, i - reach); j <= std::min(columns, i + reach); ++j) {
            const std::size_t at = place(i, j);
            std::uint8_t& step = steps[static_cast<std::size_t>(i) * width + at];
            float best = i == 0 && j == 0 ? 0.0F : -1.0F;
            if (i > 0 && at + 1 < width && above[at + 1] > best) {
                best = above[at + 1];
                step = skip_left;
            }
            if (j > 0 && at > 0 && here[at - 1] > best) {
                best = here[at - 1];
                step = skip_right;
            }
            if (i > 0 && j > 0 && above[at] >= 0) {
                const law_detail::BlockMark& a = left[static_cast<std::size_t>(i - 1)];
                const law_detail::BlockMark& b = right[static_cast<std::size_t>(j - 1)];
                const float score = a.scope == b.scope ? above[at] + law_detail::match(a, b, ratios) : -1.0F;
                if (score > best) {
                    best = score;
                    step = pair;
                }
            }
            here[at] = best;
        }
        std::swap(above, here);
    }
    std::vector<std::optional<std::size_t>> partners(one.blocks.size());
    for (std::int64_t i = rows, j = columns; i > 0 && j > 0;) {
        switch (steps[static_cast<std::size_t>(i) * width + place(i, j)]) {
            case skip_left: --i; break;
            case skip_right: --j; break;
            default: partners[left[static_cast<std::size_t>(--i)].block] = right[static_cast<std::size_t>(--j)].block;
        }
    }
    for (std::size_t i = 1; i < partners.size(); ++i) {
        if (!left_staged[i] || !partners[i - 1]) continue;
        const std::size_t next = *partners[i - 1] + 1;
        if (next < right_staged.size() && right_staged[next]) partners[i] = next;
    }
    return partners;
}

}  // namespace hpo::allocator
