// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

#include "hpo/allocator/trace_alignment.hpp"
#include "hpo/allocator/trace_law.hpp"
#include "hpo/allocator/trace_peak.hpp"
#include "hpo/base/inline.hpp"

namespace hpo::allocator {

HPO_INLINE void TraceLaw::add(std::vector<double> numbers, AllocationTrace trace) {
    if (recordings() >= 2) {
        const auto predicted = static_cast<double>(requested_peak(at(numbers)->trace).bytes);
        const auto recorded = static_cast<double>(requested_peak(trace).bytes);
        errors_.push_back(recorded > 0 ? std::abs(predicted / recorded - 1) : 0);
    }
    for (std::size_t round = 1; round < partners_.size(); ++round) partners_[round].clear();
    std::vector<double> terms = terms_.at(numbers);
    recordings_.push_back({std::move(numbers), std::move(terms), std::move(trace)});
}

HPO_INLINE bool TraceLaw::covers(const std::vector<double>& numbers) const {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        constexpr double reach = 4;
        double least = std::numeric_limits<double>::infinity();
        double most = 0;
        bool has = false;
        for (const Recorded& each : recordings_) {
            least = std::min(least, each.numbers[i]);
            most = std::max(most, each.numbers[i]);
            has = has || each.numbers[i] == numbers[i];
        }
        if (!has && (least == most || numbers[i] < least / reach || numbers[i] > most * reach)) return false;
    }
    return true;
}

/// The sizes of a recording's blocks with other numbers.
class TraceLaw::Prediction {
public:
    /// By the partners of a round. `left_out`: a recording that does not count.
    Prediction(const TraceLaw& law, std::size_t base, std::vector<double> wanted, int round, std::optional<std::size_t> left_out)
        : law_{law},
          base_{base},
          wanted_{std::move(wanted)},
          round_{round},
          left_out_{left_out},
          predicted_{law.recordings_[base].trace, law.recordings_[base].trace} {}

    [[nodiscard]] Predicted predicted() {
        for (std::size_t block = 0; block < predicted_.trace.blocks.size(); ++block) set(block, by_law(block));
        // After a trace's own blocks: the results of the reductions are known then.
        const std::vector<std::int64_t>& events = law_.recordings_[base_].trace.events;
        for (std::size_t i = 1; i + 3 < events.size(); ++i) {
            const std::int64_t buffer = events[i];
            if (buffer < 1 || events[i + 1] != buffer + 1 || events[i + 2] != -2 - buffer || events[i + 3] != -1 - buffer) continue;
            stage(static_cast<std::size_t>(buffer));
        }
        return std::move(predicted_);
    }

private:
    void set(std::size_t block, std::pair<std::int64_t, std::int64_t> bytes) {
        predicted_.trace.blocks[block].bytes = bytes.first;
        predicted_.most.blocks[block].bytes = bytes.second;
    }
    /// At least 1 byte, which is less than any block that matters, and at most more than any device has.
    [[nodiscard]] static std::int64_t whole(double bytes) {
        constexpr double most = 0x1p44;
        return std::max<std::int64_t>(1, std::llround(std::min(bytes, most)));
    }
    [[nodiscard]] const std::vector<TracedBlock>& blocks_of(std::size_t recording) const {
        return law_.recordings_[recording].trace.blocks;
    }
    [[nodiscard]] std::optional<std::size_t> partner(std::size_t recording, std::size_t block) const {
        if (recording == base_) return block;
        if (recording == left_out_) return std::nullopt;
        return law_.partners(base_, recording, round_)[block];
    }

    [[nodiscard]] std::pair<std::int64_t, std::int64_t> by_law(std::size_t block) {
        std::vector<std::int64_t> sizes(law_.recordings(), -1);  // -1: no partner
        std::vector<SizePoint> points{{static_cast<double>(blocks_of(base_)[block].bytes), &law_.recordings_[base_].terms}};
        for (std::size_t i = 0; i < law_.recordings(); ++i) {
            const auto found = partner(i, block);
            if (!found) continue;
            sizes[i] = blocks_of(i)[*found].bytes;
            if (i != base_) points.push_back({static_cast<double>(sizes[i]), &law_.recordings_[i].terms});
        }
        const auto [entry, is_new] = known_.try_emplace(std::move(sizes));  // a training has few different laws
        if (is_new) {
            const SizeGuess guess = size_at(wanted_, points);
            entry->second = {is_absent(entry->first) ? 1 : whole(guess.bytes), whole(guess.most)};
        }
        return entry->second;
    }

    /// A kernel may take a block only above some size: of one of the products that tell recordings with a partner from those without. Half
    /// way between the two, by ratio, counts as the border. Most of these products decide.
    [[nodiscard]] bool is_absent(const std::vector<std::int64_t>& sizes) const {
        const auto lacks = [&](std::size_t i) { return sizes[i] < 0 && i != left_out_; };
        if (std::ranges::none_of(std::views::iota(std::size_t{0}, sizes.size()), lacks)) return false;
        int votes = 0;
        for (std::size_t term = 1; term < wanted_.size(); ++term) {
            double least_with = std::numeric_limits<double>::infinity();
            double most_without = 0;
            for (std::size_t i = 0; i < sizes.size(); ++i) {
                const double value = law_.recordings_[i].terms[term];
                if (sizes[i] >= 0) least_with = std::min(least_with, value);
                else if (lacks(i)) most_without = std::max(most_without, value);
            }
            if (most_without >= least_with) continue;
            votes += wanted_[term] < std::sqrt(most_without * least_with) ? 1 : -1;
        }
        return votes > 0;
    }

    /// A buffer and its counters, which a kernel takes after its result and gives back at once: what it sums up has as many rows as one of
    /// the products, if that explains all recordings.
    void stage(std::size_t buffer) {
        for (const std::int64_t bytes : {4, 2}) {  // of a result
            for (std::size_t term = 0; term < wanted_.size(); ++term) {
                if (!explains(buffer, term, bytes)) continue;
                const Staging staged = staging(wanted_[term], predicted_.trace.blocks[buffer - 1].bytes, bytes);
                const auto size = std::max<std::int64_t>(1, staged.buffer);
                const auto counters = std::max<std::int64_t>(1, staged.counters);
                set(buffer, {size, size});
                set(buffer + 1, {counters, counters});
                return;
            }
        }
    }
    [[nodiscard]] bool explains(std::size_t buffer, std::size_t term, std::int64_t bytes) const {
        for (std::size_t i = 0; i < law_.recordings(); ++i) {
            const auto result = partner(i, buffer - 1);
            const auto own_buffer = partner(i, buffer);
            const auto counters = partner(i, buffer + 1);
            // One that stages nothing may have lost its partners, and two that are not side by side are no such pair.
            if (!result || !own_buffer || !counters || *own_buffer != *result + 1 || *counters != *result + 2) continue;
            const Staging seen{blocks_of(i)[*own_buffer].bytes, blocks_of(i)[*counters].bytes};
            if (staging(law_.recordings_[i].terms[term], blocks_of(i)[*result].bytes, bytes) != seen) return false;
        }
        return true;
    }
    [[nodiscard]] Staging staging(double rows, std::int64_t result_bytes, std::int64_t bytes) const {
        constexpr double most_rows = 0x1p40;
        if (rows > most_rows) return {};
        return staging_of(Reduction::of_columns(std::llround(rows), std::max<std::int64_t>(1, result_bytes / bytes)), law_.card_);
    }

    const TraceLaw& law_;
    std::size_t base_;
    std::vector<double> wanted_;
    int round_;
    std::optional<std::size_t> left_out_;
    Predicted predicted_;
    std::map<std::vector<std::int64_t>, std::pair<std::int64_t, std::int64_t>> known_;
};

HPO_INLINE std::optional<TraceLaw::Predicted> TraceLaw::at(const std::vector<double>& numbers) const {
    if (recordings_.empty()) return std::nullopt;
    const auto same = std::ranges::find(recordings_, numbers, &Recorded::numbers);
    if (same != recordings_.end()) return Predicted{same->trace, same->trace};
    if (recordings_.size() < 2) return std::nullopt;
    return Prediction{*this, base_for(numbers), terms_.at(numbers), last_round, std::nullopt}.predicted();
}

HPO_INLINE std::size_t TraceLaw::base_for(const std::vector<double>& numbers) const {
    const auto distance = [&](const Recorded& each) {
        double sum = 0;
        for (std::size_t i = 0; i < numbers.size(); ++i) sum += std::abs(std::log(numbers[i] / each.numbers[i]));
        return sum;
    };
    std::size_t best = 0;
    for (std::size_t i = 1; i < recordings_.size(); ++i) {
        const auto blocks = recordings_[i].trace.blocks.size();
        const auto most = recordings_[best].trace.blocks.size();
        if (blocks > most || (blocks == most && distance(recordings_[i]) < distance(recordings_[best]))) best = i;
    }
    return best;
}

HPO_INLINE const TraceLaw::Partners& TraceLaw::partners(std::size_t one, std::size_t other, int round) const {
    constexpr std::size_t enough = 4;
    if (recordings() < enough) round = 0;
    auto& known = partners_.at(static_cast<std::size_t>(round));
    const auto found = known.find({one, other});
    if (found != known.end()) return found->second;
    const AllocationTrace& trace = recordings_[other].trace;
    std::vector<double> ratios;
    if (round == 0) {
        for (std::size_t i = 0; i < terms_.count(); ++i) ratios.push_back(recordings_[other].terms[i] / recordings_[one].terms[i]);
        return known.emplace(std::pair{one, other}, aligned_blocks(recordings_[one].trace, trace, std::move(ratios))).first->second;
    }
    const AllocationTrace expected = Prediction{*this, one, recordings_[other].terms, round - 1, other}.predicted().trace;
    return known.emplace(std::pair{one, other}, aligned_blocks(expected, trace, {1.0})).first->second;
}

}  // namespace hpo::allocator
