// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hpo/base/inline.hpp"
#include "hpo/base/order.hpp"
#include "hpo/sampler/tpe_kernels.hpp"
#include "hpo/sampler/truncated_normal.hpp"

namespace hpo::sampler {

HPO_INLINE void TpeKernels::add_log_density(std::span<const double> points, std::span<double> terms) const {
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

HPO_INLINE double TpeKernels::log_mass(std::size_t k, const TpePart& part) const {
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

HPO_INLINE double TpeKernels::draw(std::size_t k, const TpePart& part, Rng& rng) const {
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

HPO_INLINE void TpeKernels::build_normals(const std::vector<double>& values) {
    const double range = axis_.high - axis_.low;
    std::vector<double> at(values.size());  // in the model's coordinates
    for (std::size_t k = 0; k < values.size(); ++k) at[k] = std::isnan(values[k]) ? values[k] : axis_.to_model(values[k]);
    const std::vector<std::size_t> sorted = ascending_order(at);  // observations that have the parameter
    const std::size_t n = sorted.size();
    const double narrowest = range / std::min(100.0, static_cast<double>(n) + 2);
    const auto width = [&](std::size_t i) {
        const double left = at[sorted[i]] - (i > 0 ? at[sorted[i - 1]] : axis_.low);
        const double right = (i + 1 < n ? at[sorted[i + 1]] : axis_.high) - at[sorted[i]];
        double gap = std::max(left, right);
        if (n > 1 && i == 0) gap = right;
        if (n > 1 && i + 1 == n) gap = left;
        return std::clamp(gap, narrowest, range);
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

HPO_INLINE void TpeKernels::set_normal(std::size_t g, double mean, double width) {
    mean_[g] = mean;
    inverse_width_[g] = 1 / width;
    log_inside_[g] = log_normal_mass((axis_.low - mean) / width, (axis_.high - mean) / width);
    log_scale_[g] = -std::log(width) - log_sqrt_two_pi - log_inside_[g];
}

HPO_INLINE void TpeKernels::copy_normal(std::size_t to, std::size_t from) {
    mean_[to] = mean_[from];
    inverse_width_[to] = inverse_width_[from];
    log_inside_[to] = log_inside_[from];
    log_scale_[to] = log_scale_[from];
}

HPO_INLINE void TpeKernels::build_choices(const std::vector<double>& values, double prior_weight) {
    std::size_t present = 0;
    for (const double value : values) present += std::isnan(value) ? 0U : 1U;
    const double floor = prior_weight / (static_cast<double>(present) + 1);
    const double sum = floor * static_cast<double>(axis_.choices) + 1;
    log_observed_ = std::log((floor + 1) / sum);
    log_other_ = std::log(floor / sum);
    group_.reserve(values.size() + 1);
    for (const double value : values) {
        group_.push_back(static_cast<std::uint32_t>(std::isnan(value) ? axis_.choices : static_cast<std::size_t>(value)));
    }
    group_.push_back(static_cast<std::uint32_t>(axis_.choices));
}

HPO_INLINE std::vector<double> TpeKernels::group_densities(double internal) const {
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
