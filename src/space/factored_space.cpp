// SPDX-License-Identifier: MIT
#include "space/factored_space.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <range/v3/range/conversion.hpp>
#include <range/v3/view/chunk_by.hpp>
#include <range/v3/view/drop.hpp>
#include <range/v3/view/map.hpp>
#include <range/v3/view/zip.hpp>

namespace hpo {

int FactoredSpace::disagreements(int runs) const {
    int count = 0;
    for (int run = 0; run < runs; ++run) {
        const Seed seed = Seed{0x5EED}.derive(static_cast<std::uint64_t>(run));
        const auto choose = [&](std::size_t, const std::string& name, const Axis& axis) {
            return axis.value_at(seed.derive(name).rng().uniform());
        };
        const SpacePath path = walk(space_, choose, at_refusal_);
        if (!follows(path)) ++count;
    }
    return count;
}

Seed FactoredSpace::question_hash(Seed hash, const std::string& name, const Distribution& distribution, const Narrowing& within) {
    hash = mix(mix(hash.derive(name).derive(static_cast<std::uint64_t>(distribution.index())), within.low), within.high);
    for (const bool allowed : within.allowed) hash = hash.derive(allowed ? 2U : 1U);
    if (const auto* real = std::get_if<FloatDistribution>(&distribution)) {
        return mix(mix(mix(hash, real->low), real->high), real->step.value_or(-1)).derive(real->log ? 2U : 1U);
    }
    if (const auto* whole = std::get_if<IntDistribution>(&distribution)) {
        hash = hash.derive(static_cast<std::uint64_t>(whole->low)).derive(static_cast<std::uint64_t>(whole->high));
        return hash.derive(static_cast<std::uint64_t>(whole->step));
    }
    return hash.derive(std::get<CategoricalDistribution>(distribution).choices.size());
}

double FactoredSpace::Prober::draw(const std::string& name, const Distribution& distribution, const Narrowing& within,
                                   const ParamSet& /*fixed*/) {
    if (depth < prefix.size()) return prefix[depth++];
    ++depth;
    hash = question_hash(hash, name, distribution, within);
    return Axis{distribution, within}.value_at(share(name));
}

double FactoredSpace::Prober::share(std::string_view name) const {
    static constexpr std::array<double, 3> plain{0.0, 1.0, 0.5};
    if (probe < 3) return plain[static_cast<std::size_t>(probe)];
    const std::uint64_t bits = Seed{23}.derive(name).value;
    const std::uint64_t part = (static_cast<std::uint64_t>(probe) * (bits | 1U) + (bits >> 32U)) % static_cast<std::uint64_t>(probes);
    return (static_cast<double>(part) + 0.5) / probes;
}

std::uint64_t FactoredSpace::sketch(const std::vector<double>& prefix) {
    Seed hash{17};
    for (int probe = 0; probe < probes_ + 3; ++probe) {
        ++walks_;
        Prober source{prefix, probe, probes_, hash, at_refusal_};
        SpaceTrial trial{source};
        const RunEnd end = source.run(space_, trial);
        hash = source.hash.derive(end.outside ? 4U : end.cut ? 3U : end.refused ? 2U : 1U);
    }
    return hash.value;
}

std::shared_ptr<const FactoredSpace::Node> FactoredSpace::build(std::vector<double>& prefix) {
    auto node = std::make_shared<Node>();
    ++walks_;
    const auto choose = [&](std::size_t depth, const std::string&, const Axis& axis) {
        return depth < prefix.size() ? prefix[depth] : axis.value(0);
    };
    SpacePath path = walk(space_, choose, at_refusal_);
    cut_ = cut_ || path.end.cut;
    if (gave_up() || path.steps.size() <= prefix.size()) {
        node->end = path.end;
        node->tally.whole.accepted = path.end.refused || path.end.outside ? 0 : 1;
        node->tally.whole.refused = path.end.refused ? 1 : 0;
        node->tally.whole.shapes.insert(1);
        return node;
    }
    node->asked = std::move(path.steps[prefix.size()]);
    const Axis& axis = node->asked->axis;
    const auto sketch_with = [&](double internal) {
        prefix.push_back(internal);
        const std::uint64_t result = sketch(prefix);
        prefix.pop_back();
        return result;
    };
    const auto child = [&](std::uint64_t hash, double internal) {
        std::shared_ptr<const Node>& known = nodes_[hash];
        if (known) return known;
        prefix.push_back(internal);
        auto built = build(prefix);
        prefix.pop_back();
        return nodes_[hash] = std::move(built);
    };
    if (axis.is_continuous()) {
        std::map<std::uint64_t, double> seen;
        for (const double share : {0.5, 0.0, 1.0}) seen.emplace(sketch_with(axis.value_at(share)), axis.value_at(share));
        if (seen.size() > 1) exact_ = false;
        for (const auto& [hash, internal] : seen) node->groups.push_back({1, {{0, 0}}, child(hash, internal)});
    } else {
        std::map<std::uint64_t, std::size_t> group_of;
        for (const auto& [first, last, hash] : segments(axis, sketch_with)) {
            const auto [place, is_new] = group_of.emplace(hash, node->groups.size());
            if (is_new) node->groups.push_back({0, {}, child(hash, axis.value(first))});
            Group& group = node->groups[place->second];
            group.size += last - first + 1;
            group.ranges.emplace_back(first, last);
        }
    }
    node->tally = tally_of(*node);
    return node;
}

template <class SketchWith>
std::vector<FactoredSpace::Segment> FactoredSpace::segments(const Axis& axis, SketchWith&& sketch_with) {
    std::map<std::uint64_t, std::uint64_t> known;  // sketch by position
    const auto look = [&](std::uint64_t position) {
        const auto found = known.find(position);
        return found != known.end() ? found->second : known[position] = sketch_with(axis.value(position));
    };
    const std::uint64_t last = axis.size() - 1;
    if (axis.size() <= longest_walked_axis) {
        for (std::uint64_t position = 0; position <= last; ++position) look(position);
    } else {
        for (std::uint64_t part = 0; part <= 8; ++part) look(part == 8 ? last : last / 8 * part);
        const auto probed = known | ranges::views::keys | ranges::to<std::vector>();  // a copy: each look adds to what is known
        for (const auto& [left, right] : ranges::views::zip(probed, probed | ranges::views::drop(1))) {
            std::uint64_t low = left;
            std::uint64_t high = right;
            if (look(low) == look(high)) continue;
            exact_ = false;
            while (high - low > 1) {
                const std::uint64_t middle = low + (high - low) / 2;
                (look(middle) == look(low) ? low : high) = middle;
            }
        }
    }
    std::vector<Segment> result;
    const auto same_sketch = [](const auto& a, const auto& b) { return a.second == b.second; };
    for (const auto& run : known | ranges::views::chunk_by(same_sketch)) {
        const auto& [first, hash] = *run.begin();
        if (!result.empty()) result.back().last = first - 1;
        result.push_back({first, last, hash});
    }
    return result;
}

Tally FactoredSpace::tally_of(const Node& node) {
    Tally tally;
    const auto* categorical = std::get_if<CategoricalDistribution>(&node.asked->distribution);
    if (categorical) tally.categorical(node.asked->name, *categorical);
    for (const Group& group : node.groups) {
        const Tally& below = group.child->tally;
        if (node.asked->axis.is_continuous()) {  // regions of one axis: the largest gives a lower bound
            if (below.whole.accepted >= tally.whole.accepted) tally = below;
            continue;
        }
        tally.whole.add(below.whole, group.size);
        tally.add_categoricals(below, group.size);
        if (!categorical) continue;
        for (const auto& [first, last] : group.ranges) {
            for (std::uint64_t position = first; position <= last; ++position) {
                const auto choice = static_cast<std::size_t>(node.asked->axis.value(position));
                tally.categorical(node.asked->name, *categorical).parts[choice].add(below.whole, 1);
            }
        }
    }
    std::set<std::uint64_t> shapes;
    for (const std::uint64_t shape : tally.whole.shapes) shapes.insert(Seed{shape}.derive(node.asked->name).value);
    tally.whole.shapes = std::move(shapes);
    return tally;
}

bool FactoredSpace::follows(const SpacePath& path) const {
    const Node* node = root_.get();
    for (const PathStep& step : path.steps) {
        if (!node->asked || !same_question(*node->asked, step)) return false;
        if (node->asked->axis.is_continuous() && node->groups.size() > 1) return true;  // already known to be inexact
        const std::uint64_t position = node->asked->axis.position_of(step.internal);
        const Node* next = nullptr;
        for (const Group& group : node->groups) {
            for (const auto& [first, last] : group.ranges) {
                if (position >= first && position <= last) next = group.child.get();
            }
        }
        if (!next) return false;
        node = next;
    }
    return !node->asked && node->end.refused == path.end.refused && node->end.outside == path.end.outside;
}

}  // namespace hpo
