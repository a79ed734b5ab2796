// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/core/history.hpp"
#include "hpo/core/param_set.hpp"
#include "hpo/core/seed.hpp"
#include "hpo/sampler/uniform.hpp"
#include "hpo/space/narrowing.hpp"

namespace hpo {

/// Who asks for a trial's parameters.
enum class Asker {
    space,        ///< the study's space, before the trial is launched
    expectation,  ///< the study, before the launch of a program that asks itself later, if it asks at all
    program,      ///< the program that runs
};

/// Parameter values that a person has chosen: an enqueued trial, `--fix`.
using FixedValues = std::vector<std::pair<std::string, Value>>;

/// The trial that a sampler draws for.
struct TrialContext {
    std::int64_t number = 0;
    const History& history;
    Asker asker = Asker::space;
    Seed seed{};                         ///< the study's; suggest_params sets it
    std::int64_t proposal = 0;           ///< proposals for this trial that were refused before, at least; suggest_params sets it
    const FixedValues* fixed = nullptr;  ///< of the study, and of this trial if it was enqueued; null: none
    bool is_enqueued = false;            ///< it runs whatever was tried before
    bool draws_again = false;  ///< a sampler may refuse what it has begun (SpaceRejection), and is asked again; suggest_params sets it
};

/// Thrown by a sampler that cannot draw a parameter, if that is no error of the study. A program that asked for it is told so.
class NoSuggestion : public Error {
public:
    explicit NoSuggestion(const std::string& what) : Error{Errc::bad_value, what} {}
};

/// Thrown by a sampler that has no other configuration to propose, because each was tried.
class SpaceExhausted : public Error {
public:
    explicit SpaceExhausted(const std::string& what) : Error{Errc::usage, what} {}
};

/// A request for one parameter.
struct Ask {
    const std::string& name;
    const Distribution& distribution;  ///< the whole distribution, as stored
    const Narrowing& within;           ///< the part that this trial allows; never empty
    const ParamSet& fixed;             ///< the values that this trial already has
    const TrialContext& trial;
    Rng& rng;  ///< keyed by seed, trial and name; beside trial.seed the only source of randomness

    /// A value that the trial allows, drawn uniformly, or uniformly on the log scale for log parameters. Takes one number from `rng`.
    [[nodiscard]] double uniform() const { return sampler::draw_uniform(distribution, within, rng); }
    /// The value that the trial allows and that is nearest to a number. It has the parameter's own unit, also on a log scale. Of choices,
    /// it is the nearest number among them (truth values are 0 and 1). Throws bad_value if no choice is a number, and for NaN.
    [[nodiscard]] double clamp(double number) const {
        if (const auto nearest = nearest_admitted(distribution, within, number)) return *nearest;
        throw bad_value("sampler: parameter '" + name + "'", display_text(number), describe(distribution));
    }
};

/// Draws parameter values. `suggest` returns an internal value that the distribution contains and `within` admits. The same history,
/// request and random bits give the same value. If a program asks (Asker), the value of a number may be any that
/// to_internal_unbounded gives.
template <class S>
concept Sampler = std::movable<S> && requires(S& sampler, const Ask& ask) {
    { sampler.suggest(ask) } -> std::same_as<double>;
};

/// A sampler that also draws all parameters at once, before the space asks for them. Parameters that the space does not ask for are
/// dropped. Those that are missing or outside their narrowing are drawn one by one with `suggest`.
template <class S>
concept JointSampler = Sampler<S> && requires(S& sampler, const TrialContext& trial, Rng& rng) {
    { sampler.suggest_joint(trial, rng) } -> std::same_as<ParamSet>;
};

/// A sampler that proposes each configuration once. `all_tried` is true if none is left. The study then ends. Such a sampler throws
/// SpaceExhausted if it is asked all the same and may (TrialContext::draws_again).
template <class S>
concept ExhaustiveSampler = Sampler<S> && requires(S& sampler, const TrialContext& trial) {
    { sampler.all_tried(trial) } -> std::same_as<bool>;
};

/// Throws Error{Errc::usage} if a sampler cannot search for so many objectives. It says so by a member of this name; others take any
/// number.
template <Sampler S>
void require_objectives(const S& sampler, std::size_t objectives) {
    if constexpr (requires { sampler.require_objectives(objectives); }) sampler.require_objectives(objectives);
}

/// Throws Error{Errc::usage} if a sampler cannot draw such a parameter. It says so by a member of this name; others draw all.
template <Sampler S>
void require_parameter(const S& sampler, const std::string& name, const Distribution& distribution) {
    if constexpr (requires { sampler.require_parameter(name, distribution); }) sampler.require_parameter(name, distribution);
}

/// True if a sampler proposes each configuration once. One that is chosen at run time says so itself.
template <Sampler S>
[[nodiscard]] bool is_exhaustive(const S& sampler) {
    if constexpr (requires { sampler.is_exhaustive(); }) return sampler.is_exhaustive();
    else return ExhaustiveSampler<S>;
}

/// What a sampler that chooses among others does in a study of so many objectives, whose trials have such parameters as these, and why.
/// Empty for others.
template <Sampler S>
[[nodiscard]] std::string explanation_of(const S& sampler, std::size_t objectives, std::span<const ParamSet> trials) {
    if constexpr (requires { sampler.explanation(objectives, trials); }) return sampler.explanation(objectives, trials);
    else return {};
}

}  // namespace hpo
