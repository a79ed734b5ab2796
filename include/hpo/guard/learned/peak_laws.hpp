// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "hpo/guard/learned/peak_law.hpp"

namespace hpo::guard {

/// A peak as a sum of products: a constant, and parts that are proportional to products of amounts. Each coefficient is at least 0, because
/// a larger amount never takes less memory.
struct PeakLaw {
    std::vector<LawTerm> terms;  ///< the constant first; nothing else: no law stands out
    double weight = 1;           ///< how likely it is among those that were found
};

/// What laws say of a configuration.
struct LawBelief {
    double log_bytes = 0;          ///< the mean of all, by their weights
    std::vector<double> features;  ///< what log_bytes is uncertain in: the shares of the likeliest law's parts, and how far laws disagree
};

/// The laws that runs agree with, each with its weight (law_search.hpp). They are few, and found without chance. Thread safety: const
/// members may be called by several threads.
class PeakLaws {
public:
    static constexpr std::size_t most_terms = 6;  ///< of a law, with the constant

    /// `data` has a run at least. With `search` false, the parts and weights of the last laws stay, and only coefficients are learned.
    void learn(const LawData& data, bool search);

    /// Laws must have been learned.
    [[nodiscard]] LawBelief ask(const std::vector<double>& row) const;
    /// The likeliest first.
    [[nodiscard]] const std::vector<PeakLaw>& laws() const noexcept { return laws_; }

private:
    std::vector<PeakLaw> laws_;
    double least_bytes_ = 1;  ///< what no law is below
};

}  // namespace hpo::guard
