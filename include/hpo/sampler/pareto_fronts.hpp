// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "hpo/sampler/free_cells.hpp"

namespace hpo::sampler {

/// True if no value of `a` is worse than that of `b`, and one is better. Lower values are better.
[[nodiscard]] inline bool dominates(std::span<const double> a, std::span<const double> b) {
    bool is_better = false;
    for (std::size_t m = 0; m < a.size(); ++m) {
        if (a[m] > b[m]) return false;
        is_better = is_better || a[m] < b[m];
    }
    return is_better;
}

/// Observations of several objectives, sorted into fronts: no member of a front dominates another, and each is dominated by one of the
/// front before (Deb et al. 2002, section III.A). Kept from one observation to the next.
class ParetoFronts {
public:
    struct Member {
        std::size_t id = 0;
        std::vector<double> values;  ///< by objective, lower is better; not NaN
    };

    /// Adds an observation. Members of its front that it dominates move to the next one, and so on. O(members² objectives) at most; seldom
    /// more than O(members objectives).
    void add(Member member) {
        const auto is_free = [&](const std::vector<Member>& front) {
            return std::none_of(front.begin(), front.end(), [&](const Member& other) { return dominates(other.values, member.values); });
        };
        auto place = static_cast<std::size_t>(std::find_if(fronts_.begin(), fronts_.end(), is_free) - fronts_.begin());
        std::vector<Member> arriving;
        arriving.push_back(std::move(member));
        while (!arriving.empty()) {
            if (place == fronts_.size()) fronts_.emplace_back();
            std::vector<Member>& front = fronts_[place++];
            const auto stays = [&](const Member& other) {
                return std::none_of(arriving.begin(), arriving.end(),
                                    [&](const Member& each) { return dominates(each.values, other.values); });
            };
            const auto leaving = std::stable_partition(front.begin(), front.end(), stays);
            std::vector<Member> moved(std::make_move_iterator(leaving), std::make_move_iterator(front.end()));
            front.erase(leaving, front.end());
            std::move(arriving.begin(), arriving.end(), std::back_inserter(front));
            arriving = std::move(moved);
        }
    }

    /// The ids of the best `count` members, or of all if there are fewer: whole fronts, and of the last one those that together dominate
    /// the most volume, as far as a greedy choice finds them (Guerreiro, Fonseca and Paquete 2016). Of more than three objectives those
    /// that lie farthest from each other. Equal ones are taken by their id.
    [[nodiscard]] std::vector<std::size_t> best(std::size_t count) const {
        std::vector<std::size_t> ids;
        for (const std::vector<Member>& front : fronts_) {
            if (ids.size() + front.size() <= count) {
                for (const Member& member : front) ids.push_back(member.id);
                continue;
            }
            std::vector<const Member*> left;
            for (const Member& member : front) left.push_back(&member);
            std::sort(left.begin(), left.end(), [](const Member* a, const Member* b) { return a->id < b->id; });
            const std::size_t wanted = count - ids.size();
            const std::vector<std::size_t> chosen = wanted == 0                        ? std::vector<std::size_t>{}
                                                    : left.front()->values.size() <= 3 ? most_volume(left, wanted)
                                                                                       : farthest(left, wanted);
            ids.insert(ids.end(), chosen.begin(), chosen.end());
            break;
        }
        return ids;
    }
    [[nodiscard]] const std::vector<std::vector<Member>>& fronts() const noexcept { return fronts_; }

private:
    /// Values, the infinite ones as the worst or best finite one.
    [[nodiscard]] static std::vector<std::vector<double>> finite(const std::vector<const Member*>& members) {
        std::vector<std::vector<double>> points;
        for (const Member* member : members) points.push_back(member->values);
        for (std::size_t m = 0; m < points.front().size(); ++m) {
            double low = std::numeric_limits<double>::infinity(), high = -low;
            for (const auto& point : points) {
                if (std::isfinite(point[m])) low = std::min(low, point[m]), high = std::max(high, point[m]);
            }
            for (auto& point : points) point[m] = low <= high ? std::clamp(point[m], low, high) : 0;
        }
        return points;
    }

    [[nodiscard]] static std::vector<std::size_t> most_volume(const std::vector<const Member*>& members, std::size_t count) {
        const std::vector<std::vector<double>> points = finite(members);
        std::vector<double> reference;
        for (std::size_t m = 0; m < points.front().size(); ++m) {
            double worst = points.front()[m];
            for (const auto& point : points) worst = std::max(worst, point[m]);
            reference.push_back(reference_beyond(worst));
        }
        // What a point adds never grows, so only the one that added most before needs to be looked at again.
        std::vector<std::pair<double, std::size_t>> bounds;  // a heap: the greatest first, of equal ones the first
        const auto is_less = [](const auto& a, const auto& b) { return a.first != b.first ? a.first < b.first : a.second > b.second; };
        std::vector<std::vector<double>> taken;
        std::vector<FreeCell> cells = free_cells(taken, reference);
        for (std::size_t i = 0; i < points.size(); ++i) bounds.emplace_back(dominated_volume(cells, points[i]), i);
        std::make_heap(bounds.begin(), bounds.end(), is_less);
        std::vector<std::size_t> ids;
        std::vector<std::size_t> looked_at(points.size(), 0);  // how many were taken then
        while (ids.size() < count) {
            std::pop_heap(bounds.begin(), bounds.end(), is_less);
            auto& [volume, i] = bounds.back();
            if (looked_at[i] == ids.size()) {
                ids.push_back(members[i]->id);
                taken.push_back(points[i]);
                cells = free_cells(taken, reference);
                bounds.pop_back();
                continue;
            }
            looked_at[i] = ids.size();
            volume = dominated_volume(cells, points[i]);
            std::push_heap(bounds.begin(), bounds.end(), is_less);
        }
        return ids;
    }

    [[nodiscard]] static std::vector<std::size_t> farthest(const std::vector<const Member*>& members, std::size_t count) {
        const std::vector<std::vector<double>> points = finite(members);
        std::vector<double> nearest(points.size(), std::numeric_limits<double>::infinity());  // squared distance to what is taken
        std::vector<double> width(points.front().size(), 0);
        for (std::size_t m = 0; m < width.size(); ++m) {
            for (const auto& point : points) width[m] = std::max(width[m], std::fabs(point[m] - points.front()[m]));
        }
        std::vector<std::size_t> ids;
        while (ids.size() < count) {
            const auto next = static_cast<std::size_t>(std::max_element(nearest.begin(), nearest.end()) - nearest.begin());
            ids.push_back(members[next]->id);
            for (std::size_t i = 0; i < points.size(); ++i) {
                double squared = 0;
                for (std::size_t m = 0; m < width.size(); ++m)
                    squared += width[m] > 0 ? std::pow((points[i][m] - points[next][m]) / width[m], 2) : 0;
                nearest[i] = std::min(nearest[i], squared);
            }
            nearest[next] = -1;
        }
        return ids;
    }

    std::vector<std::vector<Member>> fronts_;
};

}  // namespace hpo::sampler
