// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/sampler/concept.hpp"
#include "hpo/sampler/uniform.hpp"
#include "hpo/space/narrowing.hpp"
#include "hpo/space/space_trial.hpp"

namespace hpo {

/// Thrown for fixed values that no proposal of the space has, alone or together.
class FixedValueError : public Error {
public:
    explicit FixedValueError(const std::string& what) : Error{Errc::bad_value, what} {}
};

namespace detail {

/// The seed of one proposal. Each parameter has its own stream.
struct ProposalSeed {
    Seed trial;  ///< the study's seed, derived with the trial's number
    int round = 0;
    int draw = 0;  ///< number of proposals that the space has refused before

    [[nodiscard]] Rng rng(std::string_view name) const {
        return trial.derive(name).derive(static_cast<std::uint64_t>(round)).derive(static_cast<std::uint64_t>(draw)).rng();
    }
};

/// The values that an error message names as expected. If the trial's narrowing refused the value, this is the part of the distribution
/// that it leaves.
[[nodiscard]] inline Distribution left_by(const Narrowing& within, const Distribution& distribution, bool is_narrowed_out) {
    if (!is_narrowed_out) return distribution;
    const auto* const categorical = std::get_if<CategoricalDistribution>(&distribution);
    if (!categorical || within.allowed.empty()) return narrowed(distribution, within).value_or(distribution);
    CategoricalDistribution left;
    for (std::size_t i = 0; i < categorical->choices.size(); ++i) {
        if (i < within.allowed.size() && within.allowed[i]) left.choices.push_back(categorical->choices[i]);
    }
    return left;
}

/// Answers a space with fixed values, then with the joint draw, then with `suggest`.
template <Sampler S>
class SamplerSource final : public ParamSource {
public:
    /// `by_chance`: the sampler is not asked, and each value is drawn uniformly.
    SamplerSource(S& sampler, const TrialContext& trial, const FixedValues& fixed, const ProposalSeed& seed, bool by_chance = false)
        : sampler_{sampler}, trial_{trial}, fixed_{fixed}, seed_{seed}, by_chance_{by_chance} {
        if constexpr (JointSampler<S>) {
            // If there are fixed values, the parameters are drawn one by one, so that each depends on these.
            if (!fixed.empty() || by_chance) return;
            Rng rng = seed.rng("");  // no parameter has an empty name
            joint_ = sampler.suggest_joint(trial, rng);
        }
    }

    /// The same with a joint draw that was made before, for a trial whose questions come one by one.
    SamplerSource(S& sampler, const TrialContext& trial, const FixedValues& fixed, const ProposalSeed& seed, ParamSet joint)
        : sampler_{sampler}, trial_{trial}, fixed_{fixed}, seed_{seed}, joint_{std::move(joint)} {}
    [[nodiscard]] const ParamSet& joint() const noexcept { return joint_; }

    double draw(const std::string& name, const Distribution& distribution, const Narrowing& within, const ParamSet& so_far) override {
        for (const auto& [fixed_name, value] : fixed_) {
            if (fixed_name != name) continue;
            const auto internal = to_internal_as_written(distribution, value);
            if (internal && within.admits(*internal)) return *internal;
            const auto outside = asks_itself() ? to_internal_unbounded(distribution, value) : std::nullopt;
            if (outside) return *outside;
            const Error wrong = bad_value("fixed parameter '" + name + "'",
                                          display_text(value) + (internal ? ", which this trial's narrowing leaves out" : ""),
                                          describe(left_by(within, distribution, internal.has_value())));
            if (!has_drawn_ || asks_itself()) {
                has_refused_fixed_ = true;
                throw FixedValueError{wrong.what()};
            }
            throw SpaceRejection{wrong.what()};  // a proposal of another branch may accept it
        }
        has_drawn_ = true;
        if (const Param* drawn = joint_.find(name)) {
            const bool same_kind = drawn->distribution == nullptr || compatible(*drawn->distribution, distribution);
            if (same_kind && contains(distribution, drawn->internal) && within.admits(drawn->internal)) return drawn->internal;
        }
        try {
            Rng rng = seed_.rng(name);
            if (by_chance_) return sampler::draw_uniform(distribution, within, rng);
            const double suggested = sampler_.suggest(Ask{name, distribution, within, so_far, trial_, rng});
            const bool is_number = !std::holds_alternative<CategoricalDistribution>(distribution);
            const bool may_leave = asks_itself() && is_number && to_internal_unbounded(distribution, Value{suggested}) == suggested;
            if (!may_leave) require_legal(name, distribution, within, suggested);
            return suggested;
        } catch (...) {
            fault_ = std::current_exception();
            throw;
        }
    }
    /// The exception that the sampler threw, or that its illegal value caused; null if there is none. It is not the fault of the trial's
    /// function, even if that caught or changed it.
    [[nodiscard]] const std::exception_ptr& fault() const noexcept { return fault_; }

    /// True if a fixed value was refused and no other proposal could have it.
    [[nodiscard]] bool has_refused_fixed() const noexcept { return has_refused_fixed_; }

private:
    [[nodiscard]] bool asks_itself() const noexcept { return trial_.asker != Asker::space; }
    static void require_legal(const std::string& name, const Distribution& distribution, const Narrowing& within, double internal) {
        if (contains(distribution, internal) && within.admits(internal)) return;
        std::string got = display_text(internal);
        const bool is_narrowed_out = contains(distribution, internal);
        if (is_narrowed_out) got = display_text(to_value(distribution, internal)) + ", which this trial's narrowing leaves out";
        throw bad_value("sampler: parameter '" + name + "'", got,
                        (std::holds_alternative<CategoricalDistribution>(distribution) ? "the index of " : "") +
                            describe(left_by(within, distribution, is_narrowed_out)));
    }

    S& sampler_;
    const TrialContext& trial_;
    const FixedValues& fixed_;
    ProposalSeed seed_;
    ParamSet joint_;
    bool by_chance_ = false;
    bool has_drawn_ = false;  ///< a parameter was drawn, so another proposal may differ
    bool has_refused_fixed_ = false;
    std::exception_ptr fault_;
};

}  // namespace detail

/// The number of proposals that `require` may refuse in a row before suggest_params gives up.
inline constexpr int max_refused_proposals = 1000;
/// After so many, a JointSampler is not asked any more, and values are drawn uniformly: what it prefers may all be refused. One that is
/// exhaustive goes on, because it does not propose again what was refused.
inline constexpr int refused_proposals_before_chance = 200;

/// Draws a trial's parameters: runs `space` with values from the sampler until `require` accepts a proposal. Random bits are keyed by
/// (seed, trial number, name, round), so the order of workers has no effect. `round` counts how often this trial was drawn anew, for
/// example because its memory would not fit. Values in `fixed` take priority over the sampler. A proposal whose branch cannot have them is
/// drawn again, too.
///
/// Throws bad_value if proposals keep being refused, and FixedValueError instead if there are fixed values. Throws bad_value if the sampler
/// returns a value that the parameter does not have, except as Sampler allows. Passes on whatever the sampler throws.
template <Sampler S>
[[nodiscard]] ParamSet suggest_params(S& sampler, const Space& space, const TrialContext& trial, Seed seed, const FixedValues& fixed = {},
                                      int round = 0) {
    std::map<std::string, int> refusals;
    std::string last;
    for (int draw = 0; draw < max_refused_proposals; ++draw) {
        const TrialContext context{.number = trial.number,
                                   .history = trial.history,
                                   .asker = trial.asker,
                                   .seed = seed,
                                   .proposal = std::int64_t{round} * max_refused_proposals + draw,
                                   .fixed = &fixed,
                                   .is_enqueued = trial.is_enqueued,
                                   .draws_again = trial.asker == Asker::space && !trial.is_enqueued};
        detail::SamplerSource<S> source{sampler,
                                        context,
                                        fixed,
                                        {.trial = seed.derive(static_cast<std::uint64_t>(trial.number)), .round = round, .draw = draw},
                                        JointSampler<S> && draw >= refused_proposals_before_chance && !is_exhaustive(sampler)};
        SpaceTrial proposal{source, trial.number};
        try {
            space(proposal);
            return proposal.params();
        } catch (const SpaceRejection& rejection) {
            ++refusals[rejection.reason];
            last = rejection.reason;
        } catch (const Error& error) {
            if (!source.has_refused_fixed()) throw;
            throw FixedValueError{error.what()};  // a script throws it as its own error, with its place
        }
    }
    std::vector<std::pair<std::string, int>> ranked{refusals.begin(), refusals.end()};
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string text = "search space: refused " + std::to_string(max_refused_proposals) + " proposals in a row";
    if (ranked.size() == 1) {
        text += ", each for: " + last;
    } else {
        text += "; last: " + last + "; in all:";
        for (const auto& [reason, count] : ranked) text += (text.back() == ':' ? " " : ", ") + reason + " (" + std::to_string(count) + ")";
    }
    if (!fixed.empty()) throw FixedValueError{text};
    throw Error{Errc::bad_value, text};
}

/// Draws one parameter of a trial whose questions come one by one. The random bits are those of suggest_params. `joint` is the sampler's
/// draw for all parameters of the trial: it is made at the first call. `so_far` are the values that the trial already has. Throws as
/// suggest_params does.
template <Sampler S>
[[nodiscard]] double suggest_one(S& sampler, const TrialContext& trial, Seed seed, const FixedValues& fixed, std::optional<ParamSet>& joint,
                                 const std::string& name, const Distribution& distribution, const ParamSet& so_far) {
    using Source = detail::SamplerSource<S>;
    const detail::ProposalSeed proposal{.trial = seed.derive(static_cast<std::uint64_t>(trial.number)), .round = 0, .draw = 0};
    const TrialContext context{.number = trial.number, .history = trial.history, .asker = trial.asker, .seed = seed, .fixed = &fixed};
    if (!joint) joint = Source{sampler, context, fixed, proposal}.joint();
    return Source{sampler, context, fixed, proposal, *joint}.draw(name, distribution, {}, so_far);
}

}  // namespace hpo
