// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hpo/core/seed.hpp"
#include "hpo/sampler/tpe_axis.hpp"

namespace hpo::sampler {

/// The part of an axis that a trial's narrowing leaves.
struct TpePart {
    TpeAxis axis;               ///< of the narrowed distribution
    std::vector<bool> allowed;  ///< by choice; empty: all are allowed
    [[nodiscard]] bool allows(std::size_t choice) const { return allowed.empty() || allowed[choice]; }
};

/// One parameter's part of a mixture of product kernels: kernel k for observation k, and the prior as the last kernel. An observation that
/// lacks the parameter has the prior's kernel.
///
/// A number's kernel is a normal distribution truncated to the axis. Its width is the larger gap to its neighbours; for the outermost it is
/// the inner gap. The width lies between 1/min(100, n + 2) of the axis and the whole axis. On a grid, a kernel is the normal's mass over
/// the cell. A choice's kernel is the observed choice over a floor of prior_weight / (n + 1).
class TpeKernels {
public:
    /// `values`: the observations' internal values, NaN if the parameter is missing.
    TpeKernels(const TpeAxis& axis, const std::vector<double>& values, double prior_weight) : axis_{axis} {
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

    TpeAxis axis_;
    std::vector<std::uint32_t> group_;  ///< by kernel; empty on a continuous axis
    std::vector<double> mean_;          ///< by group, like the next three
    std::vector<double> inverse_width_;
    std::vector<double> log_scale_;   ///< -log(width * sqrt(2 pi)) - log_inside
    std::vector<double> log_inside_;  ///< log of the untruncated normal's mass on the axis
    double log_observed_ = 0;
    double log_other_ = 0;
};

}  // namespace hpo::sampler

#ifndef HPO_COMPILED
#include "hpo/sampler/impl/tpe_kernels_inl.hpp"
#endif
