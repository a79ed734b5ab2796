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

/// A model of a space that is too large to enumerate: a tree in which values of an axis share one sub-tree if their sub-trees agree.
///
/// Design note: a space is a function, so whether two sub-trees agree can be tested but not proved. Each value is tested with `probes`
/// answers to all later questions; an answer depends on the parameter's name only. Then the model is compared with random runs of the space
/// (`disagreements`). If they differ, the caller builds a more careful model, or none.
class FactoredSpace {
public:
    /// With AtRefusal::go_on, refused combinations are whole ones; else they are proposals.
    FactoredSpace(const Space& space, int probes, AtRefusal at_refusal = AtRefusal::end)
        : space_{space}, probes_{probes}, at_refusal_{at_refusal} {
        std::vector<double> prefix;
        root_ = build(prefix);
    }

    [[nodiscard]] const Tally& tally() const noexcept { return root_->tally; }
    /// True if the space has too many different sub-trees for a model. Then the model's numbers are meaningless.
    [[nodiscard]] bool gave_up() const noexcept { return walks_ > most_walks; }
    /// False if a long or continuous axis has different sub-trees, because there may be more of them between its probes.
    [[nodiscard]] bool exact() const noexcept { return exact_; }
    /// True if a refused combination stands for several.
    [[nodiscard]] bool cut() const noexcept { return cut_; }

    /// The number of random runs, of `runs`, that differ from the model.
    [[nodiscard]] int disagreements(int runs) const;

private:
    static constexpr std::uint64_t longest_walked_axis = 64;
    static constexpr std::int64_t most_walks = 100'000;

    struct Node;
    /// Positions of an axis whose sub-trees look the same.
    struct Group {
        std::uint64_t size = 0;
        std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;  ///< first and last position
        std::shared_ptr<const Node> child;
    };
    struct Node {
        std::optional<PathStep> asked;  ///< nullopt at a leaf
        RunEnd end{};
        std::vector<Group> groups;
        Tally tally;
    };

    [[nodiscard]] static Seed mix(Seed hash, double number) { return hash.derive(std::bit_cast<std::uint64_t>(number)); }

    /// A hash of a question without its answer.
    [[nodiscard]] static Seed question_hash(Seed hash, const std::string& name, const Distribution& distribution, const Narrowing& within);
    [[nodiscard]] static bool same_question(const PathStep& a, const PathStep& b) {
        return a.name == b.name && a.distribution == b.distribution && a.within.low == b.within.low && a.within.high == b.within.high &&
               a.within.allowed == b.within.allowed;
    }

    /// Gives the answers of the prefix, then those of probe `probe`, and hashes the questions after the prefix.
    struct Prober final : RefusalNote {
        const std::vector<double>& prefix;
        const int probe;
        const int probes;
        Seed hash;
        std::size_t depth = 0;

        Prober(const std::vector<double>& fixed, int number, int count, Seed before, AtRefusal at_refusal)
            : RefusalNote{at_refusal}, prefix{fixed}, probe{number}, probes{count}, hash{before} {}
        double draw(const std::string& name, const Distribution& distribution, const Narrowing& within, const ParamSet& /*fixed*/) override;
        /// Probes are the ends and the middle, and then a Latin square: each parameter visits the same equal parts of its axis, in its own
        /// order. `probes` is a power of two.
        [[nodiscard]] double share(std::string_view name) const;
    };

    /// A hash of how the sub-tree below the prefix answers all probes.
    [[nodiscard]] std::uint64_t sketch(const std::vector<double>& prefix);

    [[nodiscard]] std::shared_ptr<const Node> build(std::vector<double>& prefix);

    struct Segment {
        std::uint64_t first, last, hash;
    };

    /// The axis, divided into ranges of positions with equal sketches. A short axis is tested at each position. A long one is tested at the
    /// ends, the middle and a few positions between. Bisection then finds where the sketch changes.
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
