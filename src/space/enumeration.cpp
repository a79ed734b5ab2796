// SPDX-License-Identifier: MIT
#include "hpo/space/enumeration.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "hpo/space/fixed_uses.hpp"

namespace hpo {

Axis::Axis(const Distribution& distribution, const Narrowing& within) {
    if (const auto* categorical = std::get_if<CategoricalDistribution>(&distribution)) {
        for (std::size_t i = 0; i < categorical->choices.size(); ++i) {
            if (within.admits(static_cast<double>(i))) indices_.push_back(static_cast<double>(i));
        }
        size_ = indices_.size();
        return;
    }
    const Distribution part = narrowed(distribution, within).value();
    if (const auto* whole = std::get_if<IntDistribution>(&part)) {
        low_ = static_cast<double>(whole->low);
        high_ = static_cast<double>(whole->high);
        step_ = static_cast<double>(whole->step);
        size_ = static_cast<std::uint64_t>((whole->high - whole->low) / whole->step) + 1;
        return;
    }
    const auto& real = std::get<FloatDistribution>(part);
    low_ = real.low;
    high_ = real.high;
    log_ = real.log;
    if (real.step) {
        step_ = *real.step;
        const double steps = std::floor((real.high - real.low) / step_ + 1e-8);
        size_ = steps < static_cast<double>(most) ? static_cast<std::uint64_t>(steps) + 1 : most;
    }
    continuous_ = !real.step && real.low < real.high;
}

std::uint64_t Axis::position_of(double internal) const {
    if (continuous_) return 0;
    if (!indices_.empty()) {
        return static_cast<std::uint64_t>(std::find(indices_.begin(), indices_.end(), internal) - indices_.begin());
    }
    return step_ > 0 ? static_cast<std::uint64_t>(std::llround((internal - low_) / step_)) : 0;
}

RunEnd RefusalNote::run(const Space& space, SpaceTrial& trial) {
    refused_ = false;
    RunEnd end;
    try {
        space(trial);
    } catch (const OutsideFixed&) {
        end.outside = true;
    } catch (const SpaceRejection&) {
        refused_ = true;
    } catch (const Error&) {
        if (!refused_) throw;
        end.cut = true;
    }
    end.refused = refused_ && !end.outside;
    return end;
}

}  // namespace hpo
