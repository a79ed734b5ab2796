// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/memory_need/memory_axis.hpp"
#include "hpo/analysis/memory_need/example.hpp"
#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// What one parameter adds to the logarithm of a trial's demand: a straight line over a number or its logarithm, or a level for each
/// choice.
struct MemoryTerm {
    MemoryAxis axis;
    bool logarithmic = false;
    double slope = 0;
    double centre = 0;  ///< the centre of the number's values
    double level = 0;   ///< the value at the centre
    std::vector<std::pair<Value, double>> levels;
    double freedom = 1;
    bool certain = false;  ///< the direction is certain from measured peaks

    /// Returns nullopt for a value that was never seen, and 0 for a trial without the parameter.
    [[nodiscard]] std::optional<double> at(const ParamSet& params) const {
        const auto value = params.value(axis.param);
        if (!value) return 0.0;
        if (axis.direction == 0) {
            const auto found = std::ranges::find(levels, *value, &std::pair<Value, double>::first);
            return found == levels.end() ? std::nullopt : std::optional{found->second};
        }
        const double number = params.number(axis.param).value_or(0);
        if (logarithmic && number <= 0) return std::nullopt;
        return level + slope * ((logarithmic ? std::log(number) : number) - centre);
    }
};

/// What memory trials need, learned from a study: the parameters that memory depends on and, if peaks were measured, the amount.
class MemoryModel {
public:
    /// Forward selection. Each step takes the parameter that explains most of what is left of the trials' demand. It stops if chance would
    /// explain as much more than once in a hundred. Parameters that memory cannot depend on (seeds, learning rates and the like) are left
    /// out.
    ///
    /// If at least half of the peaks are known, the demand is their logarithm, and trials that did not fit lie above all others. Otherwise
    /// the demand is whether a trial fitted.
    ///
    /// Complexity: about 100 steps for each parameter of each example. If there are more than 1,000 examples, 1,000 evenly spaced ones are
    /// taken.
    explicit MemoryModel(std::span<const Example> all);

    [[nodiscard]] std::span<const MemoryAxis> axes() const noexcept { return axes_; }

    [[nodiscard]] const MemoryTerm* term(std::string_view param) const {
        const auto found = std::ranges::find_if(terms_, [&](const MemoryTerm& term) { return term.axis.param == param; });
        return found == terms_.end() ? nullptr : &*found;
    }
    /// Whether the demand comes from measured peaks.
    [[nodiscard]] bool has_peaks() const noexcept { return from_peaks_; }
    /// The direction that is certain from measured peaks. 0 if none is.
    [[nodiscard]] int certain_direction(std::string_view param) const {
        const MemoryTerm* found = term(param);
        return found && found->certain ? found->axis.direction : 0;
    }

    /// The most by which two values of a number without a term can change the logarithm of the demand. It is the slope in what the terms
    /// leave, plus three standard errors. Returns nullopt if there are too few measured peaks, or none with values as far out.
    [[nodiscard]] std::optional<double> most_effect(const std::string& param, double a, double b) const;

    /// Whether the trials suggest that more of this number needs less: their demand falls with it. Alone, it must fall by more than one
    /// standard error. Beside the other parameters, any fall counts.
    [[nodiscard]] bool speaks_against_growth(const std::string& param) const {
        const MemoryTerm* found = term(param);
        return shrinking_.contains(param) || (found && found->axis.direction < 0);
    }

    /// The bytes that a trial with these parameters needs, plus `deviations` standard deviations. Returns nullopt without measured peaks,
    /// without a parameter that matters, and for a value that was never seen.
    [[nodiscard]] std::optional<double> bytes(const ParamSet& params, double deviations) const;

private:
    void read_demand(std::span<const Example> examples);

    [[nodiscard]] double left() const;

    void subtract(std::span<const Example> examples, const MemoryTerm& term, double sign);

    [[nodiscard]] double explained(std::span<const Example> examples, const MemoryTerm& term) const;

    /// Whether the rest of the demand falls with this number by more than so many standard errors of the slope.
    [[nodiscard]] bool shrinks(std::span<const Example> examples, const std::string& name, double errors) const;

    void bound_effect(std::span<const Example> examples, const std::string& name);

    void select(std::span<const Example> examples, std::set<std::string>& names);

    /// The least-squares term of one parameter for the residual. Returns nullopt if it has too few values.
    [[nodiscard]] std::optional<MemoryTerm> fit(std::span<const Example> examples, const std::string& name) const;

    std::vector<std::optional<double>> residual_;
    std::vector<MemoryTerm> terms_;
    std::vector<MemoryAxis> axes_;
    struct Effect {
        bool logarithmic = false;
        double slope = 0;  ///< largest absolute slope
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
