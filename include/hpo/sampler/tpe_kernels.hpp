// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "hpo/base/order.hpp"
#include "hpo/core/seed.hpp"
#include "hpo/sampler/model_axis.hpp"
#include "hpo/sampler/truncated_normal.hpp"

namespace hpo::sampler {

/// The part of an axis that a trial's narrowing leaves.
struct TpePart {
    ModelAxis axis;             ///< of the narrowed distribution
    std::vector<bool> allowed;  ///< by choice; empty: all are allowed
    [[nodiscard]] bool allows(std::size_t choice) const { return allowed.empty() || allowed[choice]; }
};

/// The width of the kernel of value `place` of `count` on an axis, between its neighbours or the axis's ends: the larger gap, and for the
/// outermost values the inner gap. At least 1 / min(100, count + 2) of the axis, at most the whole axis.
[[nodiscard]] inline double tpe_width(const ModelAxis& axis, std::size_t place, std::size_t count, double left_gap, double right_gap) {
    const double range = axis.high - axis.low;
    double gap = std::max(left_gap, right_gap);
    if (count > 1 && place == 0) gap = right_gap;
    if (count > 1 && place + 1 == count) gap = left_gap;
    return std::clamp(gap, range / std::min(100.0, static_cast<double>(count) + 2), range);
}

/// The logs of a choice's kernel at another choice than the observed one, and at the observed one, if `present` observations have the
/// parameter.
[[nodiscard]] inline std::pair<double, double> tpe_log_choice(std::size_t choices, std::size_t present, double prior_weight) {
    const double floor = prior_weight / (static_cast<double>(present) + 1);
    const double sum = floor * static_cast<double>(choices) + 1;
    return {std::log(floor / sum), std::log((floor + 1) / sum)};
}

/// One parameter's part of a mixture of product kernels: kernel k for observation k, and the prior as the last kernel. An observation that
/// lacks the parameter has the prior's kernel.
///
/// A number's kernel is a normal distribution truncated to the axis, of width tpe_width. On a grid, a kernel is the normal's mass over the
/// cell. A choice's kernel is the observed choice over a floor of prior_weight / (n + 1).
class TpeKernels {
public:
    /// `values`: the observations' internal values, NaN if the parameter is missing.
    TpeKernels(const ModelAxis& axis, const std::vector<double>& values, double prior_weight) : axis_{axis} {
        if (axis.choices > 0) build_choices(values, prior_weight);
        else build_normals(values);
    }

    /// Adds kernel k's log density at points[i] to terms[i * kernels + k].
    void add_log_density(std::span<const double> points, std::span<double> terms) const;

    /// The log of kernel k's mass inside `part`.
    [[nodiscard]] double log_mass(std::size_t k, const TpePart& part) const;

    /// A draw from kernel k inside `part`, as an internal value.
    [[nodiscard]] double draw(std::size_t k, const TpePart& part, Rng& rng) const;

private:
    /// Kernels with the same parameters are one group. On a continuous axis each kernel is its own group.
    [[nodiscard]] std::size_t group(std::size_t k) const { return group_.empty() ? k : group_[k]; }

    void build_normals(const std::vector<double>& values);
    void add_normal(double mean, double width) {
        mean_.emplace_back(), inverse_width_.emplace_back(), log_scale_.emplace_back(), log_inside_.emplace_back();
        set_normal(mean_.size() - 1, mean, width);
    }
    void set_normal(std::size_t g, double mean, double width);
    void copy_normal(std::size_t to, std::size_t from);

    /// Group c stands for observations of choice c. The last group is the prior.
    void build_choices(const std::vector<double>& values, double prior_weight);
    [[nodiscard]] double choice_density(std::size_t g, std::size_t choice) const {
        if (g == axis_.choices) return -std::log(static_cast<double>(axis_.choices));
        return g == choice ? log_observed_ : log_other_;
    }

    /// Each group's log density at a choice or a grid point.
    [[nodiscard]] std::vector<double> group_densities(double internal) const;

    ModelAxis axis_;
    std::vector<std::uint32_t> group_;  ///< by kernel; empty on a continuous axis
    std::vector<double> mean_;          ///< by group, like the next three
    std::vector<double> inverse_width_;
    std::vector<double> log_scale_;   ///< -log(width * sqrt(2 pi)) - log_inside
    std::vector<double> log_inside_;  ///< log of the untruncated normal's mass on the axis
    double log_observed_ = 0;
    double log_other_ = 0;
};

inline void TpeKernels::add_log_density(std::span<const double> points, std::span<double> terms) const {
    const std::size_t kernels = terms.size() / points.size();
    std::vector<double> known;  // values repeat on grids and among choices
    std::vector<std::vector<double>> tables;
    for (std::size_t i = 0; i < points.size(); ++i) {
        double* const row = terms.data() + i * kernels;
        if (axis_.choices == 0 && axis_.step == 0) {
            const double x = axis_.to_model(points[i]);
            for (std::size_t k = 0; k < kernels; ++k) {
                const double z = (x - mean_[k]) * inverse_width_[k];
                row[k] += log_scale_[k] - 0.5 * z * z;
            }
            continue;
        }
        std::size_t at = 0;
        while (at < known.size() && known[at] != points[i]) ++at;
        if (at == known.size()) {
            known.push_back(points[i]);
            tables.push_back(group_densities(points[i]));
        }
        const std::vector<double>& table = tables[at];
        for (std::size_t k = 0; k < kernels; ++k) row[k] += table[group_[k]];
    }
}

inline double TpeKernels::log_mass(std::size_t k, const TpePart& part) const {
    if (axis_.choices == 0) {
        const std::size_t g = group(k);
        return log_normal_mass((part.axis.low - mean_[g]) * inverse_width_[g], (part.axis.high - mean_[g]) * inverse_width_[g]) -
               log_inside_[g];
    }
    double mass = 0;
    for (std::size_t choice = 0; choice < axis_.choices; ++choice) {
        if (part.allows(choice)) mass += std::exp(choice_density(group_[k], choice));
    }
    return std::log(mass);
}

inline double TpeKernels::draw(std::size_t k, const TpePart& part, Rng& rng) const {
    const double u = rng.uniform();
    if (axis_.choices == 0) {
        const std::size_t g = group(k);
        const double z =
            truncated_normal_quantile(u, (part.axis.low - mean_[g]) * inverse_width_[g], (part.axis.high - mean_[g]) * inverse_width_[g]);
        return part.axis.to_internal(mean_[g] + z / inverse_width_[g]);
    }
    double left = u * std::exp(log_mass(k, part));
    std::size_t drawn = 0;
    for (std::size_t choice = 0; choice < axis_.choices; ++choice) {
        if (!part.allows(choice)) continue;
        drawn = choice;
        left -= std::exp(choice_density(group_[k], choice));
        if (left < 0) break;
    }
    return static_cast<double>(drawn);
}

inline void TpeKernels::build_normals(const std::vector<double>& values) {
    const double range = axis_.high - axis_.low;
    std::vector<double> at(values.size());  // in the model's coordinates
    for (std::size_t k = 0; k < values.size(); ++k) at[k] = std::isnan(values[k]) ? values[k] : axis_.to_model(values[k]);
    const std::vector<std::size_t> sorted = ascending_order(at);  // observations that have the parameter
    const std::size_t n = sorted.size();
    const auto width = [&](std::size_t i) {
        const double left = at[sorted[i]] - (i > 0 ? at[sorted[i - 1]] : axis_.low);
        const double right = (i + 1 < n ? at[sorted[i + 1]] : axis_.high) - at[sorted[i]];
        return tpe_width(axis_, i, n, left, right);
    };

    const bool grid = axis_.step > 0;
    const std::size_t kernels = values.size() + 1;
    if (grid) {
        add_normal(axis_.low + range / 2, range);
        group_.assign(kernels, 0);
    } else {
        const auto all = [&](std::vector<double>& each) { each.resize(kernels); };
        all(mean_), all(inverse_width_), all(log_scale_), all(log_inside_);
        set_normal(kernels - 1, axis_.low + range / 2, range);
        for (std::size_t k = 0; k + 1 < kernels; ++k) {
            if (std::isnan(values[k])) copy_normal(k, kernels - 1);
        }
    }
    for (std::size_t i = 0; i < n; ++i) {
        const double mean = at[sorted[i]];
        if (!grid) {
            set_normal(sorted[i], mean, width(i));
            continue;
        }
        if (mean_.back() != mean || inverse_width_.back() != 1 / width(i) || mean_.size() == 1) add_normal(mean, width(i));
        group_[sorted[i]] = static_cast<std::uint32_t>(mean_.size() - 1);
    }
}

inline void TpeKernels::set_normal(std::size_t g, double mean, double width) {
    mean_[g] = mean;
    inverse_width_[g] = 1 / width;
    log_inside_[g] = log_normal_mass((axis_.low - mean) / width, (axis_.high - mean) / width);
    log_scale_[g] = -std::log(width) - log_sqrt_two_pi - log_inside_[g];
}

inline void TpeKernels::copy_normal(std::size_t to, std::size_t from) {
    mean_[to] = mean_[from];
    inverse_width_[to] = inverse_width_[from];
    log_inside_[to] = log_inside_[from];
    log_scale_[to] = log_scale_[from];
}

inline void TpeKernels::build_choices(const std::vector<double>& values, double prior_weight) {
    std::size_t present = 0;
    for (const double value : values) present += std::isnan(value) ? 0U : 1U;
    const auto [other, observed] = tpe_log_choice(axis_.choices, present, prior_weight);
    log_other_ = other;
    log_observed_ = observed;
    group_.reserve(values.size() + 1);
    for (const double value : values) {
        group_.push_back(static_cast<std::uint32_t>(std::isnan(value) ? axis_.choices : static_cast<std::size_t>(value)));
    }
    group_.push_back(static_cast<std::uint32_t>(axis_.choices));
}

inline std::vector<double> TpeKernels::group_densities(double internal) const {
    std::vector<double> densities;
    if (axis_.choices > 0) {
        for (std::size_t g = 0; g <= axis_.choices; ++g) densities.push_back(choice_density(g, static_cast<std::size_t>(internal)));
        return densities;
    }
    const double low = axis_.to_model(internal - axis_.step / 2);
    const double high = axis_.to_model(internal + axis_.step / 2);
    for (std::size_t g = 0; g < mean_.size(); ++g) {
        densities.push_back(log_normal_mass((low - mean_[g]) * inverse_width_[g], (high - mean_[g]) * inverse_width_[g]) - log_inside_[g]);
    }
    return densities;
}

}  // namespace hpo::sampler
