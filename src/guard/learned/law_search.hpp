// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "hpo/guard/learned/peak_law.hpp"

namespace hpo::guard {

inline constexpr std::size_t most_steps = 5;  ///< of one amount

/// The parts that laws may have: products of up to three amounts, of which one may be squared, and these and constants for each category.
/// There are also steps, from some value of an amount on: constants and single amounts, and constants for each category. Of many amounts
/// and categories only those count that go best with the peaks. Of an amount with many values a few steps are possible.
[[nodiscard]] std::vector<LawTerm> possible_terms(const LawData& data);

/// The bytes of a part, divided by its coefficient. 0 for a run that does not have an amount of it.
[[nodiscard]] double product_of(const LawTerm& term, const std::vector<double>& row);

/// Finds laws by what they leave unexplained.
///
/// The criterion of a law is the Bayesian information criterion, with a noise that is never far below 5 per cent, and with a price for each
/// part: the more factors it has, the less probable it was before any run (as in Chen and Chen's extended criterion, 2008). Thread safety:
/// const members may be called by several threads.
class LawSearch {
public:
    struct Fit {
        std::vector<std::size_t> columns;  ///< the parts, in order; 0 is the constant
        std::vector<double> coefficients;
        double squares = std::numeric_limits<double>::infinity();  ///< of the logarithms' errors
        double criterion = 0;                                      ///< smaller is better
    };

    /// `data` must outlive the search. Parts that are the same for all measured runs, or the same as another part, are left out.
    LawSearch(const LawData& data, const std::vector<LawTerm>& parts);

    [[nodiscard]] std::size_t columns() const noexcept { return columns_.size(); }
    /// Coefficients of at least 0 with the least squares of the logarithms' errors: Gauss-Newton steps of nonnegative least squares, the
    /// first for relative errors. A censored run counts if the law is below its bound.
    [[nodiscard]] Fit fit(std::vector<std::size_t> columns) const;
    /// The best laws of at most `most_terms` parts, best first. The best so far are tried with one more part each, while that helps.
    [[nodiscard]] std::vector<Fit> search(std::size_t most_terms) const;
    [[nodiscard]] std::vector<LawTerm> terms_of(const Fit& fit) const;

private:
    static constexpr std::size_t grown_further = 4, tried_each = 6, most_laws = 8;

    [[nodiscard]] double criterion(double squares, const std::vector<std::size_t>& columns) const;
    /// The parts with which the relative errors of a law would be least.
    [[nodiscard]] std::vector<std::size_t> promising(const std::vector<std::size_t>& columns) const;

    const LawData& data_;
    std::vector<LawTerm> terms_;
    std::vector<std::vector<double>> columns_;  ///< products, divided by their largest
    std::vector<double> scales_;                ///< these largest
    std::vector<double> bytes_;
    double measured_ = 0;  ///< runs, by their weights
};

}  // namespace hpo::guard
