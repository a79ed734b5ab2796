// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "hpo/guard/learned/gaussian_process.hpp"
#include "hpo/guard/learned/peak_laws.hpp"

namespace hpo::guard {

/// The logarithm of a peak as a function of a run's inputs: laws, and a Gaussian process over what they leave. So it follows what was seen,
/// and goes on by the laws beyond it.
///
/// Runs that are borrowed have a noise of their own, and all of them may be off by one factor, which is not known.
///
/// The peak of a censored run is replaced by its expectation above the bound. This is repeated, six times in all, because the expectation
/// depends on the fit. Hyperparameters are found before, without the censored runs that the laws put above their bound. Deterministic.
/// Thread safety: const members may be called by several threads.
class PeakModel {
public:
    /// An input of the process; LawData::Kind says what it is to the laws.
    struct Input {
        LawData::Kind kind = LawData::Kind::amount;
        bool logarithmic = false;  ///< amounts that are above 0: memory grows with their products and powers
        double scale = 1;          ///< of a number that is not: its largest magnitude
    };

    /// `data` has a run at least. With `search` false, the parts of the laws and the hyperparameters of the last fit stay.
    void fit(std::vector<Input> inputs, const LawData& data, bool search);

    /// Of another run with these inputs and this weight (LawData::weight), its noise included. The model must be fitted.
    [[nodiscard]] NormalBelief predict(const std::vector<double>& row, double weight = 1) const;

    /// What the model shows if it has to foretell runs that it has not seen, with laws that are found anew. So are
    /// the hyperparameters, if the runs are few.
    struct Validation {
        /// The error of one run that was foretold without it.
        struct Miss {
            double foretold = 0;  ///< logarithm of bytes
            double square = 0;    ///< of the error, in units of what the model says
        };
        std::vector<Miss> misses{};
        double typical_error = 0;  ///< of the laws alone: the median of |law / peak - 1|, of runs that are not censored

        /// How many times larger the squares of errors are than the model says, near a peak that is foretold. Never below 1. Errors at
        /// other peaks count less: of a small peak nearly all may be libraries, and then its error is small.
        [[nodiscard]] double variance_scale(double foretold) const;
    };
    /// Five-fold cross-validation. Costs five fits.
    [[nodiscard]] Validation validated(const LawData& data) const;

    [[nodiscard]] const PeakLaws& laws() const noexcept { return laws_; }

private:
    [[nodiscard]] GaussianProcess::Point point_of(const std::vector<double>& row, const LawBelief& law, double weight) const;
    void fit_process(const LawData& data, bool search);

    std::vector<Input> inputs_;
    PeakLaws laws_;
    GaussianProcess process_;  ///< of what the laws leave
    bool borrows_ = false;
};

}  // namespace hpo::guard
