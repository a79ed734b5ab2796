// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/analysis/demand_term.hpp"
#include "hpo/analysis/region_learner.hpp"

namespace hpo::analysis {

/// What trials need, as the study shows it: the parameters that memory depends on, and, where peaks were measured, how much.
class DemandModel {
public:
    /// Forward selection: each step takes the parameter that explains most of what is left of the trials' demand (the logarithm of
    /// their peaks where at least half are known, with those that did not fit above all others; else whether they fitted), as long as
    /// chance does that less than once in a hundred. Parameters that memory cannot depend on (seeds, learning rates and their like) are
    /// left out.
    ///
    /// Complexity: about 100 steps for each parameter of each example, of which evenly spaced 1,000 are taken where there are more.
    explicit DemandModel(std::span<const Example> all);

    [[nodiscard]] std::span<const DemandAxis> axes() const noexcept { return axes_; }

    [[nodiscard]] const DemandTerm* term(std::string_view param) const {
        const auto found = std::ranges::find_if(terms_, [&](const DemandTerm& term) { return term.axis.param == param; });
        return found == terms_.end() ? nullptr : &*found;
    }
    /// Whether it is made from peaks.
    [[nodiscard]] bool has_peaks() const noexcept { return from_peaks_; }
    /// The direction that measured peaks leave no doubt about; 0 when there is none.
    [[nodiscard]] int certain_direction(std::string_view param) const {
        const DemandTerm* found = term(param);
        return found && found->certain ? found->axis.direction : 0;
    }

    /// The most by which two values of a number without a term can change the logarithm of the demand: its slope in what the terms leave,
    /// and three standard errors. Nothing where too few measured peaks tell it, or none with values as far out.
    [[nodiscard]] std::optional<double> most_effect(const std::string& param, double a, double b) const;

    /// Whether the trials suggest that more of this number needs less: their demand falls with it, alone by more than one standard error or
    /// beside the other parameters however little.
    [[nodiscard]] bool speaks_against_growth(const std::string& param) const {
        const DemandTerm* found = term(param);
        return shrinking_.contains(param) || (found && found->axis.direction < 0);
    }

    /// The bytes that a trial with these parameters needs, `deviations` standard deviations to the safe side. Nothing without measured
    /// peaks or without any parameter that matters.
    [[nodiscard]] std::optional<double> bytes(const ParamSet& params, double deviations) const;

private:
    void read_demand(std::span<const Example> examples);

    [[nodiscard]] double left() const;

    void subtract(std::span<const Example> examples, const DemandTerm& term, double sign);

    [[nodiscard]] double explained(std::span<const Example> examples, const DemandTerm& term) const;

    /// Whether what is left of the demand falls with this number by more than so many standard errors of the slope.
    [[nodiscard]] bool shrinks(std::span<const Example> examples, const std::string& name, double errors) const;

    void bound_effect(std::span<const Example> examples, const std::string& name);

    void select(std::span<const Example> examples, std::set<std::string>& names);

    /// The least-squares term of one parameter for the residual; nothing when it has too few values.
    [[nodiscard]] std::optional<DemandTerm> fit(std::span<const Example> examples, const std::string& name) const;

    std::vector<std::optional<double>> residual_;
    std::vector<DemandTerm> terms_;
    std::vector<DemandAxis> axes_;
    struct Effect {
        bool logarithmic = false;
        double slope = 0;  ///< at most, up or down
        double lowest = 0;
        double highest = 0;
    };
    std::map<std::string, Effect> effects_;  ///< of numbers without a term
    std::set<std::string> shrinking_;        ///< numbers with which the demand falls
    bool from_peaks_ = false;
    double mean_ = 0;
    double spread_ = 0;
    double count_ = 0;
    double used_ = 1;
};

}  // namespace hpo::analysis

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/demand_model_inl.hpp"
#endif
