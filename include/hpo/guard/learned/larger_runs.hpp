// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <vector>

#include "hpo/core/plan.hpp"
#include "hpo/guard/learned/peak_law.hpp"

namespace hpo::guard {

/// What runs say of others that are at most as large.
///
/// A run is at most as large as another if its plan takes no more, and if each input that counts is so. A category must be the same. An
/// amount must be at most as large. An input that only the other one has is no obstacle: a network has fewer layers without it.
///
/// More may take less: more chunks, or more groups of channels. So runs can contradict: one is at most as large as another, and took more.
/// Then nothing is concluded any more from a run to one that is smaller in at least the inputs in which that one is smaller.
///
/// Thread safety: const members may be called by several threads.
class LargerRuns {
public:
    /// For each input, if it is one of them.
    using Inputs = std::vector<bool>;
    struct Run {
        std::vector<double> row;  ///< as in LawData
        ExecutionPlan plan;
        double log_bytes = 0;
        bool censored = false;  ///< it took more than is told
    };

    LargerRuns() = default;
    /// `counts` has an element for each kind. An input that does not count may have any value, also one beyond all that were measured.
    LargerRuns(std::vector<LawData::Kind> kinds, Inputs counts, std::vector<Run> runs);

    /// The measured runs that were at least as large, and that nothing contradicts. The one that took least is the first.
    [[nodiscard]] std::vector<const Run*> larger_than(const Run& run) const;

    /// True if nothing is known of the run: it is of a category of which all runs ran out of memory, and it is clearly smaller than each of
    /// them. Clearly smaller means that the product of its amounts is at most half of the other's. So each one that fails halves what is
    /// tried next.
    [[nodiscard]] bool is_far_below_failed(const Run& run) const;

private:
    static constexpr double clear_excess = 0.2;  ///< of the logarithm of a peak: measurements do not differ so much by chance
    static constexpr std::size_t most_compared = 128;

    /// The inputs that count in which `run` is smaller. Nullopt if it is not at most as large.
    [[nodiscard]] std::optional<Inputs> smaller_in(const Run& run, const Run& other) const;
    [[nodiscard]] bool is_contradicted(const Inputs& smaller, const Run& larger) const;

    std::vector<LawData::Kind> kinds_;
    Inputs counts_;
    std::vector<Run> measured_;  ///< the one that took least is the first
    std::vector<Run> ran_out_;
    std::vector<Inputs> contradictions_;  ///< the inputs in which a run was smaller that took more; none contains another
};

}  // namespace hpo::guard
