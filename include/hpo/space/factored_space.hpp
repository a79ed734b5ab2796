// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/seed.hpp"
#include "hpo/space/enumeration.hpp"
#include "hpo/space/tally.hpp"

namespace hpo {

/// A model of a space that is too large to enumerate: a tree in which the values of an axis whose sub-trees agree share
/// one sub-tree.
///
/// Design note: a space is a function, so that two sub-trees agree can be tested but not proved. Each value is tested with
/// `probes` answers to all later questions, which depend on the parameter's name only; what the model says is then held against random runs
/// of the space (`disagreements`), and the caller builds a more careful model, or none, when they differ.
class FactoredSpace {
public:
    /// With AtRefusal::go_on its refused combinations are whole ones, else proposals.
    FactoredSpace(const Space& space, int probes, AtRefusal at_refusal = AtRefusal::end)
        : space_{space}, probes_{probes}, at_refusal_{at_refusal} {
        std::vector<double> prefix;
        root_ = build(prefix);
    }

    [[nodiscard]] const Tally& tally() const noexcept { return root_->tally; }
    /// True when the space has too many different sub-trees for a model; what it says then means nothing.
    [[nodiscard]] bool gave_up() const noexcept { return walks_ > most_walks; }
    /// False when a long or a continuous axis has sub-trees that differ: between its probes there may be others.
    [[nodiscard]] bool exact() const noexcept { return exact_; }
    /// True when a refused combination stands for more than one.
    [[nodiscard]] bool cut() const noexcept { return cut_; }

    /// How many of `runs` random runs of the space went another way than the model says.
    [[nodiscard]] int disagreements(int runs) const {
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

private:
    static constexpr std::uint64_t longest_walked_axis = 64;
    static constexpr std::int64_t most_walks = 100'000;

    struct Node;
    /// Positions of an axis with sub-trees that look the same.
    struct Group {
        std::uint64_t size = 0;
        std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;  ///< first and last position
        std::shared_ptr<const Node> child;
    };
    struct Node {
        std::optional<PathStep> asked;  ///< nothing at a leaf
        RunEnd end{};
        std::vector<Group> groups;
        Tally tally;
    };

    [[nodiscard]] static Seed mix(Seed hash, double number) { return hash.derive(std::bit_cast<std::uint64_t>(number)); }

    /// Everything about a question but its answer.
    [[nodiscard]] static Seed question_hash(Seed hash, const std::string& name, const Distribution& distribution, const Narrowing& within) {
        hash = mix(mix(hash.derive(name).derive(static_cast<std::uint64_t>(distribution.kind())), within.low), within.high);
        for (const bool allowed : within.allowed) hash = hash.derive(allowed ? 2U : 1U);
        if (const auto* real = get_if<FloatDistribution>(&distribution)) {
            return mix(mix(mix(hash, real->low), real->high), real->step.value_or(-1)).derive(real->log ? 2U : 1U);
        }
        if (const auto* whole = get_if<IntDistribution>(&distribution)) {
            hash = hash.derive(static_cast<std::uint64_t>(whole->low)).derive(static_cast<std::uint64_t>(whole->high));
            return hash.derive(static_cast<std::uint64_t>(whole->step));
        }
        return hash.derive(get<CategoricalDistribution>(distribution).choices.size());
    }
    [[nodiscard]] static bool same_question(const PathStep& a, const PathStep& b) {
        return a.name == b.name && a.distribution == b.distribution && a.within.low == b.within.low && a.within.high == b.within.high &&
               a.within.allowed == b.within.allowed;
    }

    /// Answers the prefix, then as probe `probe` does, and hashes the questions after the prefix.
    struct Prober final : RefusalNote {
        const std::vector<double>& prefix;
        const int probe;
        const int probes;
        Seed hash;
        std::size_t depth = 0;

        Prober(const std::vector<double>& fixed, int number, int count, Seed before, AtRefusal at_refusal)
            : RefusalNote{at_refusal}, prefix{fixed}, probe{number}, probes{count}, hash{before} {}
        double draw(const std::string& name, const Distribution& distribution, const Narrowing& within,
                    const ParamSet& /*fixed*/) override {
            if (depth < prefix.size()) return prefix[depth++];
            ++depth;
            hash = question_hash(hash, name, distribution, within);
            return Axis{distribution, within}.value_at(share(name));
        }
        /// The ends and the middle; then a Latin square: each parameter visits the same equal parts of its axis, in an
        /// order of its own. `probes` is a power of two.
        [[nodiscard]] double share(std::string_view name) const {
            static constexpr std::array<double, 3> plain{0.0, 1.0, 0.5};
            if (probe < 3) return plain[static_cast<std::size_t>(probe)];
            const std::uint64_t bits = Seed{23}.derive(name).value;
            const std::uint64_t part =
                (static_cast<std::uint64_t>(probe) * (bits | 1U) + (bits >> 32U)) % static_cast<std::uint64_t>(probes);
            return (static_cast<double>(part) + 0.5) / probes;
        }
    };

    /// What the sub-tree below the prefix looks like to all probes.
    [[nodiscard]] std::uint64_t sketch(const std::vector<double>& prefix) {
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

    [[nodiscard]] std::shared_ptr<const Node> build(std::vector<double>& prefix) {
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

    struct Segment {
        std::uint64_t first, last, hash;
    };

    /// The axis cut into runs of positions with equal sketches: each position of a short axis; on a long one the ends, the
    /// middle and a few between, and by bisection the places where neighbours differ.
    template <class SketchWith>
    [[nodiscard]] std::vector<Segment> segments(const Axis& axis, SketchWith&& sketch_with) {
        std::map<std::uint64_t, std::uint64_t> known;  // position to sketch
        const auto look = [&](std::uint64_t position) {
            const auto found = known.find(position);
            return found != known.end() ? found->second : known[position] = sketch_with(axis.value(position));
        };
        const std::uint64_t last = axis.size() - 1;
        if (axis.size() <= longest_walked_axis) {
            for (std::uint64_t position = 0; position <= last; ++position) look(position);
        } else {
            for (std::uint64_t part = 0; part <= 8; ++part) look(part == 8 ? last : last / 8 * part);
            std::vector<std::uint64_t> probed;
            probed.reserve(known.size());
            for (const auto& [position, ignored] : known) probed.push_back(position);
            for (std::size_t i = 0; i + 1 < probed.size(); ++i) {
                std::uint64_t low = probed[i];
                std::uint64_t high = probed[i + 1];
                if (look(low) == look(high)) continue;
                exact_ = false;
                while (high - low > 1) {
                    const std::uint64_t middle = low + (high - low) / 2;
                    (look(middle) == look(low) ? low : high) = middle;
                }
            }
        }
        std::vector<Segment> result;
        for (const auto& [position, hash] : known) {
            if (!result.empty() && result.back().hash == hash) {
                result.back().last = position;
            } else {
                if (!result.empty()) result.back().last = position - 1;
                result.push_back({position, position, hash});
            }
        }
        result.back().last = last;
        return result;
    }

    [[nodiscard]] static Tally tally_of(const Node& node) {
        Tally tally;
        const auto* categorical = get_if<CategoricalDistribution>(&node.asked->distribution);
        if (categorical) tally.categorical(node.asked->name, *categorical);
        for (const Group& group : node.groups) {
            const Tally& below = group.child->tally;
            if (node.asked->axis.is_continuous()) {  // regions of one axis: the largest is what there is at least
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

    [[nodiscard]] bool follows(const SpacePath& path) const {
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

    const Space& space_;
    int probes_;  ///< a power of two
    AtRefusal at_refusal_;
    std::int64_t walks_ = 0;
    bool exact_ = true;
    bool cut_ = false;
    std::map<std::uint64_t, std::shared_ptr<const Node>> nodes_;  ///< by sketch
    std::shared_ptr<const Node> root_;
};

}  // namespace hpo
