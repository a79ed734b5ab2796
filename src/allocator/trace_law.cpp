// SPDX-License-Identifier: MIT
#include "hpo/allocator/trace_law.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "allocator/trace_alignment.hpp"
#include "hpo/allocator/trace_peak.hpp"

namespace hpo::allocator {

void TraceLaw::add(std::vector<double> numbers, AllocationTrace trace, std::optional<double> error) {
    if (recordings() >= 2) errors_.push_back(error ? *error : *error_of(numbers, trace));
    for (std::size_t round = 1; round < partners_.size(); ++round) partners_[round].clear();
    SizeValues values = terms_.at(numbers);
    recordings_.push_back({std::move(numbers), std::move(values), std::move(trace)});
}

std::optional<double> TraceLaw::error_of(const std::vector<double>& numbers, const AllocationTrace& trace) const {
    const auto found = at(numbers);
    if (!found) return std::nullopt;
    const auto predicted = static_cast<double>(requested_peak(found->trace).bytes);
    const auto recorded = static_cast<double>(requested_peak(trace).bytes);
    return predicted == recorded ? 0 : std::abs(predicted / recorded - 1);
}

bool TraceLaw::covers(const std::vector<double>& numbers) const {
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
    Prediction(const TraceLaw& law, std::size_t base, SizeValues wanted, int round, std::optional<std::size_t> left_out)
        : law_{law},
          base_{base},
          wanted_{std::move(wanted)},
          round_{round},
          left_out_{left_out},
          predicted_{law.recordings_[base].trace, law.recordings_[base].trace, law.recordings_[base].trace} {}

    [[nodiscard]] Predicted predicted() {
        const std::vector<bool> is_staged = staged_blocks(law_.recordings_[base_].trace);
        for (std::size_t block = 0; block < is_staged.size(); ++block) {
            if (!is_staged[block]) look(block);
        }
        for (std::size_t block = 0; block < is_staged.size(); ++block) set(block, by_law(block));
        // After a trace's own blocks: the results of the reductions are known then.
        for (std::size_t i = 1; i < is_staged.size(); ++i) {
            if (is_staged[i]) stage(i++);
        }
        return std::move(predicted_);
    }

private:
    struct Bytes {
        std::int64_t bytes = 0;
        std::int64_t least = 0;
        std::int64_t most = 0;
    };

    void set(std::size_t block, const Bytes& bytes) {
        predicted_.trace.blocks[block].bytes = bytes.bytes;
        predicted_.least.blocks[block].bytes = bytes.least;
        predicted_.most.blocks[block].bytes = bytes.most;
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

    /// The sizes of a block's partners, by recording. -1: no partner.
    [[nodiscard]] std::vector<std::int64_t> sizes_of(std::size_t block) const {
        std::vector<std::int64_t> sizes(law_.recordings(), -1);
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            if (const auto found = partner(i, block)) sizes[i] = blocks_of(i)[*found].bytes;
        }
        return sizes;
    }
    /// That of the base first.
    [[nodiscard]] std::vector<SizePoint> points_of(const std::vector<std::int64_t>& sizes) const {
        std::vector<SizePoint> points{{static_cast<double>(sizes[base_]), &law_.recordings_[base_].values}};
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            if (i != base_ && sizes[i] >= 0) points.push_back({static_cast<double>(sizes[i]), &law_.recordings_[i].values});
        }
        return points;
    }
    /// The recordings that count and lack a block.
    [[nodiscard]] std::vector<std::size_t> lacking(const std::vector<std::int64_t>& sizes) const {
        std::vector<std::size_t> without;
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            if (sizes[i] < 0 && i != left_out_) without.push_back(i);
        }
        return without;
    }

    /// Notes which product a block grows with that some recordings lack. A training has few different sizes.
    void look(std::size_t block) {
        std::vector<std::int64_t> sizes = sizes_of(block);
        if (!seen_.insert(sizes).second) return;
        const std::vector<std::size_t> without = lacking(sizes);
        if (without.empty()) return;
        if (const auto term = product_of(points_of(sizes)); term && *term > 0) deciding_[without].insert(*term);
    }

    [[nodiscard]] Bytes by_law(std::size_t block) {
        const auto [entry, is_new] = known_.try_emplace(sizes_of(block));
        if (is_new) {
            const SizeGuess guess = size_at(wanted_, points_of(entry->first));
            const Presence presence = presence_of(entry->first);
            entry->second = {presence.likely ? whole(guess.bytes) : 1, presence.sure && presence.likely ? whole(guess.least) : 1,
                             presence.sure && !presence.likely ? 1 : whole(guess.most)};
        }
        return entry->second;
    }

    struct Presence {
        bool likely = true;
        bool sure = true;
    };
    /// A kernel may take a block only above some size. It is most likely the size of one of the blocks that it takes. So the simplest
    /// product decides with which a block grows that the same recordings lack. If none can, most of all products do.
    [[nodiscard]] Presence presence_of(const std::vector<std::int64_t>& sizes) const {
        const std::vector<std::size_t> without = lacking(sizes);
        if (without.empty()) return {};
        if (const auto own = deciding_.find(without); own != deciding_.end()) {
            for (const std::size_t term : own->second) {
                if (const auto [is_told, presence] = by_product(sizes, without, term); is_told) return presence;
            }
        }
        int votes = 0;
        for (std::size_t term = 1; term < wanted_.plain.size(); ++term) {
            if (const auto [is_told, presence] = by_product(sizes, without, term); is_told) votes += presence.likely ? 1 : -1;
        }
        return {.likely = votes >= 0, .sure = false};
    }
    /// Whether a product tells recordings with a block from those without, and then what it says. Between the two it is not sure, and half
    /// way, by ratio, counts as the border.
    [[nodiscard]] std::pair<bool, Presence> by_product(const std::vector<std::int64_t>& sizes, const std::vector<std::size_t>& without,
                                                       std::size_t term) const {
        double least_with = std::numeric_limits<double>::infinity();
        double most_without = 0;
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            if (sizes[i] >= 0) least_with = std::min(least_with, law_.recordings_[i].values.plain[term]);
        }
        for (const std::size_t i : without) most_without = std::max(most_without, law_.recordings_[i].values.plain[term]);
        if (most_without >= least_with) return {false, {}};
        const double value = wanted_.plain[term];
        return {true, {value >= std::sqrt(most_without * least_with), value <= most_without || value >= least_with}};
    }

    /// A buffer and its counters. Where nothing is staged, the buffer stays the larger one, so that they still look staged.
    void stage(std::size_t buffer) {
        if (const auto staged = staged_at(buffer)) {
            set(buffer, {staged->buffer, staged->buffer, staged->buffer});
            set(buffer + 1, {staged->counters, staged->counters, staged->counters});
        }
        for (AllocationTrace* const trace : {&predicted_.trace, &predicted_.least, &predicted_.most}) {
            std::int64_t& counters = trace->blocks[buffer + 1].bytes;
            counters = std::max<std::int64_t>(1, counters);
            trace->blocks[buffer].bytes = std::max(trace->blocks[buffer].bytes, counters + 1);
        }
    }
    /// What a kernel sums up has as many rows as one of the products, if that explains all recordings. Those that stage nothing count if
    /// they can.
    [[nodiscard]] std::optional<Staging> staged_at(std::size_t buffer) const {
        for (const bool all : {true, false}) {
            for (const std::int64_t bytes : {4, 2}) {  // of a result
                for (std::size_t term = 0; term < wanted_.plain.size(); ++term) {
                    if (explains(buffer, term, bytes, all))
                        return staging(wanted_.plain[term], predicted_.trace.blocks[buffer - 1].bytes, bytes);
                }
            }
        }
        return std::nullopt;
    }
    [[nodiscard]] bool explains(std::size_t buffer, std::size_t term, std::int64_t bytes, bool all) const {
        for (std::size_t i = 0; i < law_.recordings(); ++i) {
            const auto result = partner(i, buffer - 1);
            const auto own_buffer = partner(i, buffer);
            const auto counters = partner(i, buffer + 1);
            if (!result || (!own_buffer && !all)) continue;
            Staging seen;
            if (own_buffer && counters) seen = {blocks_of(i)[*own_buffer].bytes, blocks_of(i)[*counters].bytes};
            if (staging(law_.recordings_[i].values.plain[term], blocks_of(i)[*result].bytes, bytes) != seen) return false;
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
    SizeValues wanted_;
    int round_;
    std::optional<std::size_t> left_out_;
    Predicted predicted_;
    std::set<std::vector<std::int64_t>> seen_;
    std::map<std::vector<std::size_t>, std::set<std::size_t>> deciding_;  ///< products, by the recordings that lack their blocks
    std::map<std::vector<std::int64_t>, Bytes> known_;
};

std::optional<TraceLaw::Predicted> TraceLaw::at(const std::vector<double>& numbers) const {
    if (recordings_.empty()) return std::nullopt;
    const auto same = std::ranges::find(recordings_, numbers, &Recorded::numbers);
    if (same != recordings_.end()) return Predicted{same->trace, same->trace, same->trace};
    if (recordings_.size() < 2) return std::nullopt;
    return Prediction{*this, base_for(numbers), terms_.at(numbers), last_round, std::nullopt}.predicted();
}

std::size_t TraceLaw::base_for(const std::vector<double>& numbers) const {
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

const TraceLaw::Partners& TraceLaw::partners(std::size_t one, std::size_t other, int round) const {
    constexpr std::size_t enough = 4;
    if (recordings() < enough) round = 0;
    auto& known = partners_.at(static_cast<std::size_t>(round));
    const auto found = known.find({one, other});
    if (found != known.end()) return found->second;
    const AllocationTrace& trace = recordings_[other].trace;
    std::vector<double> ratios;
    if (round == 0) {
        for (std::size_t i = 0; i < terms_.count(); ++i)
            ratios.push_back(recordings_[other].values.plain[i] / recordings_[one].values.plain[i]);
        return known.emplace(std::pair{one, other}, aligned_blocks(recordings_[one].trace, trace, std::move(ratios))).first->second;
    }
    const AllocationTrace expected = Prediction{*this, one, recordings_[other].values, round - 1, other}.predicted().trace;
    return known.emplace(std::pair{one, other}, aligned_blocks(expected, trace, {1.0})).first->second;
}

namespace law_detail {

/// By how large a share the counts differ at most from the straight line that fits best. Infinity if it does not rise.
[[nodiscard]] inline double off_line(const std::vector<double>& x, const std::vector<double>& counts) {
    const auto n = static_cast<double>(x.size());
    const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / n;
    const double mean = std::accumulate(counts.begin(), counts.end(), 0.0) / n;
    double xx = 0;
    double xy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        xx += (x[i] - mean_x) * (x[i] - mean_x);
        xy += (x[i] - mean_x) * (counts[i] - mean);
    }
    if (!(xx > 0 && xy > 0)) return std::numeric_limits<double>::infinity();
    double most = 0;
    for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(mean + xy / xx * (x[i] - mean_x) - counts[i]) / counts[i]);
    return most;
}

}  // namespace law_detail

std::optional<std::size_t> TraceLaw::number_of_blocks_by() const {
    constexpr double same = 0.1;  // kernels take some blocks only above some size
    constexpr double close = 0.04;
    constexpr std::size_t least = 3;
    std::vector<double> counts;
    for (const Recorded& each : recordings_) counts.push_back(static_cast<double>(std::ranges::count(staged_blocks(each.trace), false)));
    if (counts.size() < least || std::ranges::max(counts) <= (1 + same) * std::max(1.0, std::ranges::min(counts))) return std::nullopt;
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < recordings_.front().numbers.size(); ++i) {
        std::vector<double> x;
        for (const Recorded& each : recordings_) x.push_back(each.numbers[i]);
        if (law_detail::off_line(x, counts) <= close) found.push_back(i);
    }
    return found.size() == 1 ? std::optional{found.front()} : std::nullopt;
}

}  // namespace hpo::allocator
