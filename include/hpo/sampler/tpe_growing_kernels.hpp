// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include "hpo/sampler/model_axis.hpp"
#include "hpo/sampler/tpe_kernels.hpp"
#include "hpo/sampler/truncated_normal.hpp"

namespace hpo::sampler {

namespace tpe_detail {

/// Two numbers in one register, which each x86-64 processor has.
using Pair [[gnu::vector_size(16), gnu::aligned(8), gnu::may_alias]] = double;
using PairOfBits [[gnu::vector_size(16)]] = std::uint64_t;

[[nodiscard]] inline Pair& pair_at(double* numbers) { return *reinterpret_cast<Pair*>(numbers); }
[[nodiscard]] inline const Pair& pair_at(const double* numbers) { return *reinterpret_cast<const Pair*>(numbers); }

}  // namespace tpe_detail

/// One parameter's kernels of many observations, brought up to date as observations come and go. Row 0 is the prior, every other row an
/// observation. The kernels are those that TpeKernels builds of the rows that count.
///
/// The rows stay sorted by value. So an update costs O(rows), and a logarithm or a normal mass only for kernels that changed.
class TpeGrowingKernels {
public:
    /// So many rows are added up together.
    static constexpr std::size_t block = 128;
    /// The sums of one point are this far from those of the next. It is no power of two, because a cache keeps such addresses badly.
    static constexpr std::size_t stride = block + 10;

    TpeGrowingKernels(const ModelAxis& axis, double prior_weight);

    /// Sets the internal value of a row, or NaN if the observation lacks the parameter. A value that the axis does not hold counts as
    /// lacking. O(rows).
    void set(std::size_t row, double internal);

    /// Brings the kernels up to date. `counts[row]` is not 0 for the rows that are observations now. Of equal values the one with the
    /// smaller `age[row]` comes first. O(rows), and O(n log n) for n equal values.
    void update(std::span<const char> counts, std::span<const std::uint32_t> age);

    /// Says at which internal values the densities are asked for.
    void look_at(std::span<const double> internal);

    /// Adds the log densities of the rows [first, first + block) at each point that is looked at: to sums[point * stride + row - first].
    /// Rows that there are not add anything. `first` is a multiple of `block`.
    void add_log_densities(std::size_t first, std::span<double> sums) const;

private:
    static constexpr double lacking = std::numeric_limits<double>::quiet_NaN();

    /// A normal on a grid.
    struct GridKernel {
        double mean = 0;
        double width = 0;
        double log_inside = 0;         ///< log of the normal's mass on the axis
        std::vector<double> masses{};  ///< by cell: the log of the mass there; NaN if it was not asked for. Empty for a grid of many cells
    };
    static constexpr double most_cells = 256;  // whose masses are kept

    [[nodiscard]] bool is_continuous() const { return axis_.choices == 0 && axis_.step == 0; }
    [[nodiscard]] double range() const { return axis_.high - axis_.low; }
    [[nodiscard]] double middle() const { return axis_.low + range() / 2; }
    [[nodiscard]] double log_inside(double mean, double width) const {
        return log_normal_mass((axis_.low - mean) / width, (axis_.high - mean) / width);
    }

    void set_normal(std::size_t row, double mean, double width);
    void update_choices(std::span<const char> counts);
    [[nodiscard]] double log_mass(GridKernel& kernel, double internal) const;

    ModelAxis axis_;
    double prior_weight_;
    std::vector<double> at_;              ///< by row, in the model's coordinate; NaN: lacking
    std::vector<std::uint32_t> sorted_;   ///< the rows that have the parameter, by at_ and then by row
    std::vector<std::uint32_t> counted_;  ///< those of sorted_ that count; here so that its memory is kept

    // A continuous axis, by row: the log density at x is scale - ((x - mean) * slope)^2.
    std::vector<double> mean_, slope_, scale_, width_;

    // A grid, or choices.
    std::vector<std::uint32_t> group_;    ///< by row: a kernel of grid_, or the choice; the number of choices if it is lacking
    std::vector<GridKernel> grid_;        ///< the prior's, then by mean
    std::array<double, 2> log_choice_{};  ///< of another choice than the observed one, and of the observed one

    // Where the densities are asked for.
    std::vector<double> x_;                    ///< by point, in the model's coordinate
    std::vector<std::vector<double>> tables_;  ///< of different points on a grid or among choices, by group
    std::vector<std::size_t> table_;           ///< by point
};

inline TpeGrowingKernels::TpeGrowingKernels(const ModelAxis& axis, double prior_weight) : axis_{axis}, prior_weight_{prior_weight} {
    if (axis_.choices == 0 && axis_.step > 0) grid_.push_back({middle(), range(), log_inside(middle(), range())});
    set(0, lacking);
}

inline void TpeGrowingKernels::set(std::size_t row, double internal) {
    const bool is_new = row >= at_.size();
    if (is_new) {
        at_.resize(row + 1, lacking);
        const std::size_t whole_blocks = (row / block + 1) * block;
        if (is_continuous()) {
            for (std::vector<double>* each : {&mean_, &slope_, &scale_, &width_}) each->resize(whole_blocks);
        } else {
            group_.resize(whole_blocks);
        }
    }
    const bool is_held = !std::isnan(internal) && axis_.holds(internal);
    const double at = !is_held ? lacking : axis_.choices > 0 ? internal : axis_.to_model(internal);
    if (!is_new && (at_[row] == at || (std::isnan(at_[row]) && !is_held))) return;
    const auto before = [this](std::uint32_t a, std::uint32_t b) { return at_[a] != at_[b] ? at_[a] < at_[b] : a < b; };
    const auto id = static_cast<std::uint32_t>(row);
    if (axis_.choices == 0 && !std::isnan(at_[row])) sorted_.erase(std::lower_bound(sorted_.begin(), sorted_.end(), id, before));
    at_[row] = at;
    if (axis_.choices > 0) {
        group_[row] = static_cast<std::uint32_t>(is_held ? static_cast<std::size_t>(at) : axis_.choices);
    } else if (is_held) {
        sorted_.insert(std::lower_bound(sorted_.begin(), sorted_.end(), id, before), id);
        if (is_continuous()) width_[row] = -1;  // not known yet
    } else if (is_continuous()) {
        set_normal(row, middle(), range());
    } else {
        group_[row] = 0;
    }
}

inline void TpeGrowingKernels::update(std::span<const char> counts, std::span<const std::uint32_t> age) {
    if (axis_.choices > 0) {
        update_choices(counts);
        return;
    }
    counted_.clear();
    for (const std::uint32_t row : sorted_) {
        if (counts[row] != 0) counted_.push_back(row);
        else if (!is_continuous()) group_[row] = 0;  // of a kernel that there is
    }
    for (auto begin = counted_.begin(); begin != counted_.end();) {
        const auto end = std::find_if(begin, counted_.end(), [&](std::uint32_t row) { return at_[row] != at_[*begin]; });
        std::sort(begin, end, [&](std::uint32_t a, std::uint32_t b) { return age[a] < age[b]; });
        begin = end;
    }
    const std::size_t n = counted_.size();
    std::vector<GridKernel> grid;
    std::size_t old = 1;  // of grid_: those before it have a smaller mean
    if (!is_continuous()) grid.push_back(std::move(grid_.front()));
    double left = axis_.low;
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t row = counted_[i];
        const double mean = at_[row];
        const double right = i + 1 < n ? at_[counted_[i + 1]] : axis_.high;
        const double width = tpe_width(axis_, i, n, mean - left, right - mean);
        left = mean;
        if (is_continuous()) {
            if (width_[row] != width) set_normal(row, mean, width);
            continue;
        }
        if (grid.size() == 1 || grid.back().mean != mean || grid.back().width != width) {
            while (old < grid_.size() && grid_[old].mean < mean) ++old;
            std::size_t same = old;
            while (same < grid_.size() && grid_[same].mean == mean && grid_[same].width != width) ++same;
            if (same < grid_.size() && grid_[same].mean == mean) grid.push_back(std::exchange(grid_[same], {mean, 0}));
            else grid.push_back({mean, width, log_inside(mean, width)});
        }
        group_[row] = static_cast<std::uint32_t>(grid.size() - 1);
    }
    if (!is_continuous()) grid_ = std::move(grid);
}

inline void TpeGrowingKernels::update_choices(std::span<const char> counts) {
    std::size_t present = 0;
    for (std::size_t row = 1; row < at_.size(); ++row) present += counts[row] != 0 && !std::isnan(at_[row]) ? 1U : 0U;
    const auto [other, observed] = tpe_log_choice(axis_.choices, present, prior_weight_);
    log_choice_ = {other, observed};
}

inline void TpeGrowingKernels::set_normal(std::size_t row, double mean, double width) {
    mean_[row] = mean;
    width_[row] = width;
    slope_[row] = 1 / (width * std::numbers::sqrt2);
    scale_[row] = -std::log(width) - log_sqrt_two_pi - log_inside(mean, width);
}

inline double TpeGrowingKernels::log_mass(GridKernel& kernel, double internal) const {
    const auto exact = [&] {
        const double low = (axis_.to_model(internal - axis_.step / 2) - kernel.mean) / kernel.width;
        const double high = (axis_.to_model(internal + axis_.step / 2) - kernel.mean) / kernel.width;
        const double middle = low + (high - low) / 2;
        const double size = high - low;
        if (size > 0.05 || std::fabs(middle) * size > 0.2) return log_normal_mass(low, high) - kernel.log_inside;
        // The density's Taylor series at the cell's middle, integrated. What is left out is below 1e-9 of the mass.
        const double z = middle * middle;
        const double s = size * size;
        const double more = s * (z - 1) / 24 + s * s * (z * z - 6 * z + 3) / 1920;
        return std::log(size) - 0.5 * z - log_sqrt_two_pi + more * (1 - more / 2) - kernel.log_inside;
    };
    const double cells = std::round((axis_.last - axis_.first) / axis_.step) + 1;
    const double cell = std::round((internal - axis_.first) / axis_.step);
    if (cells > most_cells || internal != axis_.first + cell * axis_.step) return exact();  // one beside the grid is not kept
    if (kernel.masses.empty()) kernel.masses.assign(static_cast<std::size_t>(cells), lacking);
    double& mass = kernel.masses[static_cast<std::size_t>(cell)];
    if (std::isnan(mass)) mass = exact();
    return mass;
}

inline void TpeGrowingKernels::look_at(std::span<const double> internal) {
    x_.resize(internal.size());
    if (is_continuous()) {
        std::transform(internal.begin(), internal.end(), x_.begin(), [this](double each) { return axis_.to_model(each); });
        return;
    }
    tables_.clear();
    table_.resize(internal.size());
    std::vector<double> known;  // values repeat on grids and among choices
    for (std::size_t i = 0; i < internal.size(); ++i) {
        const std::size_t at = static_cast<std::size_t>(std::find(known.begin(), known.end(), internal[i]) - known.begin());
        table_[i] = at;
        if (at < known.size()) continue;
        known.push_back(internal[i]);
        std::vector<double>& table = tables_.emplace_back();
        if (axis_.choices > 0) {
            table.assign(axis_.choices + 1, log_choice_[0]);
            table[static_cast<std::size_t>(internal[i])] = log_choice_[1];
            table[axis_.choices] = -std::log(static_cast<double>(axis_.choices));
        } else {
            for (GridKernel& kernel : grid_) table.push_back(log_mass(kernel, internal[i]));
        }
    }
}

inline void TpeGrowingKernels::add_log_densities(std::size_t first, std::span<double> sums) const {
    using tpe_detail::Pair, tpe_detail::pair_at;
    if (is_continuous()) {
        for (std::size_t k = 0; k < block; k += 2) {
            const Pair mean = pair_at(mean_.data() + first + k);
            const Pair slope = pair_at(slope_.data() + first + k);
            const Pair scale = pair_at(scale_.data() + first + k);
            double* sum = sums.data() + k;
            for (const double x : x_) {
                const Pair z = (x - mean) * slope;
                pair_at(sum) += scale - z * z;
                sum += stride;
            }
        }
        return;
    }
    const std::uint32_t* const group = group_.data() + first;
    for (std::size_t i = 0; i < x_.size(); ++i) {
        double* const sum = sums.data() + i * stride;
        const double* const table = tables_[table_[i]].data();
        for (std::size_t k = 0; k < block; ++k) sum[k] += table[group[k]];
    }
}

}  // namespace hpo::sampler
