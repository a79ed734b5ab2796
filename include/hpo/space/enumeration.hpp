// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "hpo/core/error.hpp"
#include "hpo/space/narrowing.hpp"
#include "hpo/space/space_trial.hpp"

namespace hpo {

/// The values that a trial may give one parameter, by position. A continuous parameter has one position, its middle.
class Axis {
public:
    static constexpr std::uint64_t most = std::uint64_t{1} << 63U;  ///< positions: a finer grid counts as that many

    Axis(const Distribution& distribution, const Narrowing& within);

    [[nodiscard]] bool is_continuous() const noexcept { return continuous_; }
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
    /// The internal value at a position below `size`.
    [[nodiscard]] double value(std::uint64_t position) const {
        if (!indices_.empty()) return indices_[position];
        return continuous_ ? continuous_value(0.5) : std::min(low_ + static_cast<double>(position) * step_, high_);
    }
    /// The position of the share `u` in [0, 1] of the axis.
    [[nodiscard]] std::uint64_t position(double u) const {
        return std::min(size_ - 1, static_cast<std::uint64_t>(u * static_cast<double>(size_)));
    }
    /// The internal value at the share `u` in [0, 1], also of a continuous axis.
    [[nodiscard]] double value_at(double u) const { return continuous_ ? continuous_value(u) : value(position(u)); }
    /// The position of an internal value of the axis; 0 on a continuous one.
    [[nodiscard]] std::uint64_t position_of(double internal) const;

private:
    [[nodiscard]] double continuous_value(double u) const {
        const double value = log_ ? std::exp(std::log(low_) + u * (std::log(high_) - std::log(low_))) : low_ + u * (high_ - low_);
        return std::clamp(value, low_, high_);
    }

    std::vector<double> indices_;  ///< of a categorical
    double low_ = 0;
    double high_ = 0;
    double step_ = 0;
    std::uint64_t size_ = 1;
    bool log_ = false;
    bool continuous_ = false;
};

/// One question that a space asked, and the answer it got.
struct PathStep {
    std::string name;
    Distribution distribution;
    Narrowing within;
    Axis axis;
    double internal = 0;
};

/// What a run does at a requirement that does not hold.
enum class AtRefusal {
    end,    ///< as a proposal of a sampler does
    go_on,  ///< and asks the rest: the combination is refused as a whole
};

/// How a run of a space ended.
struct RunEnd {
    bool refused = false;  ///< by `require`
    bool outside = false;  ///< of the part that has the fixed values
    bool cut = false;      ///< the space could not go on after the refusal; its later questions are not known
};

/// A source that notes refusals, and lets the space go on where it is told to.
class RefusalNote : public ParamSource {
public:
    explicit RefusalNote(AtRefusal at_refusal) : at_refusal_{at_refusal} {}
    void refuse(std::string_view reason) override {
        refused_ = true;
        if (at_refusal_ == AtRefusal::end) ParamSource::refuse(reason);
    }
    /// Runs the space over this source. What a space throws after a refusal is no error: nobody would have asked.
    [[nodiscard]] RunEnd run(const Space& space, SpaceTrial& trial);

private:
    AtRefusal at_refusal_;
    bool refused_ = false;
};

/// One run of a space: its questions in order, and how it ended.
struct SpacePath {
    std::vector<PathStep> steps;
    RunEnd end{};
};

/// Runs the space once; `choose(depth, name, axis)` gives each internal value.
template <class Choose>
[[nodiscard]] SpacePath walk(const Space& space, Choose&& choose, AtRefusal at_refusal = AtRefusal::end) {
    struct Source final : RefusalNote {
        Choose& choose;
        SpacePath path;
        Source(Choose& choice, AtRefusal then) : RefusalNote{then}, choose{choice} {}
        double draw(const std::string& name, const Distribution& distribution, const Narrowing& within,
                    const ParamSet& /*fixed*/) override {
            Axis axis{distribution, within};
            const double internal = choose(path.steps.size(), name, std::as_const(axis));
            path.steps.push_back({name, distribution, within, std::move(axis), internal});
            return internal;
        }
    };
    Source source{choose, at_refusal};
    SpaceTrial trial{source};
    source.path.end = source.run(space, trial);
    return std::move(source.path);
}

/// What an enumeration met.
struct Enumerated {
    std::uint64_t accepted = 0;
    std::uint64_t refused =
        0;  ///< runs that `require` refused: combinations with AtRefusal::go_on, else proposals, each ended as early as it was
    std::uint64_t outside = 0;              ///< runs that ended with OutsideFixed
    bool cut = false;                       ///< some refused run stands for more combinations than one
    bool complete = false;                  ///< false: stopped at the limit
    std::vector<std::string> continuous{};  ///< parameters that had a range of values, in the order in which they were met
};

/// Visits every combination of a space once, continuous parameters at their middle: `visit(params, refused)`; those outside fixed values
/// are not visited. Stops after `most_runs`. The order is that of counting: the parameter asked for last changes fastest. Throws bad_value
/// for a space that asks other questions after the same answers.
template <class Visit>
Enumerated for_each_combination(const Space& space, std::uint64_t most_runs, Visit&& visit, AtRefusal at_refusal = AtRefusal::end) {
    struct Digit {
        std::uint64_t position, size;
    };
    struct Source final : RefusalNote {
        std::vector<Digit> digits{};
        std::size_t depth = 0;
        std::vector<std::string> continuous{};
        std::unordered_set<std::string> known{};  // of continuous
        explicit Source(AtRefusal then) : RefusalNote{then} {}
        double draw(const std::string& name, const Distribution& distribution, const Narrowing& within,
                    const ParamSet& /*so_far*/) override {
            const Axis axis{distribution, within};
            if (axis.is_continuous() && known.insert(name).second) continuous.push_back(name);
            if (depth == digits.size()) digits.push_back({0, axis.size()});
            if (digits[depth].size != axis.size()) throw changed();
            return axis.value(digits[depth++].position);
        }
        static Error changed() {
            return bad_value("space", "other questions after the same answers", "a space that depends on its trial alone");
        }
    };
    Source source{at_refusal};
    Enumerated result;
    for (std::uint64_t runs = 0; runs < most_runs; ++runs) {
        source.depth = 0;
        SpaceTrial trial{source};
        const RunEnd end = source.run(space, trial);
        if (source.depth != source.digits.size()) throw Source::changed();
        if (end.outside) {
            ++result.outside;
        } else {
            ++(end.refused ? result.refused : result.accepted);
            result.cut = result.cut || end.cut;
            visit(trial.params(), end.refused);
        }
        while (!source.digits.empty() && ++source.digits.back().position == source.digits.back().size) source.digits.pop_back();
        if (source.digits.empty()) {
            result.complete = true;
            break;
        }
    }
    result.continuous = std::move(source.continuous);
    return result;
}

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/space/impl/enumeration_inl.hpp"
#endif
