// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
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
    [[nodiscard]] int disagreements(int runs) const;

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
    [[nodiscard]] static Seed question_hash(Seed hash, const std::string& name, const Distribution& distribution, const Narrowing& within);
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
        double draw(const std::string& name, const Distribution& distribution, const Narrowing& within, const ParamSet& /*fixed*/) override;
        /// The ends and the middle; then a Latin square: each parameter visits the same equal parts of its axis, in an
        /// order of its own. `probes` is a power of two.
        [[nodiscard]] double share(std::string_view name) const;
    };

    /// What the sub-tree below the prefix looks like to all probes.
    [[nodiscard]] std::uint64_t sketch(const std::vector<double>& prefix);

    [[nodiscard]] std::shared_ptr<const Node> build(std::vector<double>& prefix);

    struct Segment {
        std::uint64_t first, last, hash;
    };

    /// The axis cut into runs of positions with equal sketches: each position of a short axis; on a long one the ends, the
    /// middle and a few between, and by bisection the places where neighbours differ.
    template <class SketchWith>
    [[nodiscard]] std::vector<Segment> segments(const Axis& axis, SketchWith&& sketch_with);

    [[nodiscard]] static Tally tally_of(const Node& node);

    [[nodiscard]] bool follows(const SpacePath& path) const;

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

#ifndef HPO_COMPILED
#include "hpo/space/impl/factored_space_inl.hpp"
#endif
