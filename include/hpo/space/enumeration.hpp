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

#include "hpo/base/error.hpp"
#include "hpo/space/narrowing.hpp"
#include "hpo/space/space_trial.hpp"

namespace hpo {

/// The values that a trial may give one parameter, by position. A continuous parameter has one position: its middle.
class Axis {
public:
    static constexpr std::uint64_t most = std::uint64_t{1} << 63U;  ///< limit of positions: a finer grid counts as this many

    Axis(const Distribution& distribution, const Narrowing& within);

    [[nodiscard]] bool is_continuous() const noexcept { return continuous_; }
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
    /// The internal value at a position below `size`.
    [[nodiscard]] double value(std::uint64_t position) const {
        if (!indices_.empty()) return indices_[position];
        return continuous_ ? continuous_value(0.5) : std::min(low_ + static_cast<double>(position) * step_, high_);
    }
    /// The position at the share `u`, in [0, 1], of the axis.
    [[nodiscard]] std::uint64_t position(double u) const {
        return std::min(size_ - 1, static_cast<std::uint64_t>(u * static_cast<double>(size_)));
    }
    /// The internal value at the share `u`, in [0, 1], of the axis. Also for a continuous axis.
    [[nodiscard]] double value_at(double u) const { return continuous_ ? continuous_value(u) : value(position(u)); }
    /// The position of an internal value of the axis; 0 on a continuous one.
    [[nodiscard]] std::uint64_t position_of(double internal) const;

private:
    [[nodiscard]] double continuous_value(double u) const {
        const double value = log_ ? std::exp(std::log(low_) + u * (std::log(high_) - std::log(low_))) : low_ + u * (high_ - low_);
        return std::clamp(value, low_, high_);
    }

    std::vector<double> indices_;  ///< the allowed choices of a categorical parameter
    double low_ = 0;
    double high_ = 0;
    double step_ = 0;
    std::uint64_t size_ = 1;
    bool log_ = false;
    bool continuous_ = false;
};

/// One question of a space, and its answer.
struct PathStep {
    std::string name;
    Distribution distribution;
    Narrowing within;
    Axis axis;
    double internal = 0;
};

/// What a run does if a requirement does not hold.
enum class AtRefusal {
    end,    ///< ends, like a proposal of a sampler
    go_on,  ///< asks the remaining questions: the combination is refused as a whole
};

/// How a run of a space ended.
struct RunEnd {
    bool refused = false;  ///< `require` refused it
    bool outside = false;  ///< it is outside the part that has the fixed values
    bool cut = false;      ///< the space could not continue after the refusal, so its later questions are unknown
};

/// A source that records refusals, and lets the space continue after one if `at_refusal` says so.
class RefusalNote : public ParamSource {
public:
    explicit RefusalNote(AtRefusal at_refusal) : at_refusal_{at_refusal} {}
    void refuse(std::string_view reason) override {
        refused_ = true;
        if (at_refusal_ == AtRefusal::end) ParamSource::refuse(reason);
    }
    /// Runs the space with this source. An exception after a refusal is no error, because a normal run would have ended before it.
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

/// Runs the space once. `choose(depth, name, axis)` gives each internal value.
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

/// The result of an enumeration.
struct Enumerated {
    std::uint64_t accepted = 0;
    /// Runs that `require` refused. With AtRefusal::go_on these are combinations; else they are proposals, which end at the refusal.
    std::uint64_t refused = 0;
    std::uint64_t outside = 0;              ///< number of runs that ended with OutsideFixed
    bool cut = false;                       ///< a refused run stands for several combinations
    bool complete = false;                  ///< false: it stopped at the limit
    std::vector<std::string> continuous{};  ///< continuous parameters, in the order in which they first appeared
};

/// Visits every combination of a space once, with continuous parameters at their middle: `visit(params, refused)`. Combinations outside
/// fixed values are not visited. Stops after `most_runs`. The order is that of counting: the last parameter changes fastest. Throws
/// bad_value if the space asks different questions after the same answers.
template <class Visit>
Enumerated for_each_combination(const Space& space, std::uint64_t most_runs, Visit&& visit, AtRefusal at_refusal = AtRefusal::end) {
    struct Digit {
        std::uint64_t position, size;
    };
    struct Source final : RefusalNote {
        std::vector<Digit> digits{};
        std::size_t depth = 0;
        std::vector<std::string> continuous{};
        std::unordered_set<std::string> known{};  // names in `continuous`
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
