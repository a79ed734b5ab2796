// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "hpo/base/error.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/tuner/bookkeeping.hpp"

namespace hpo::tuner {

/// The parameters of running trials whose programs ask for them. A trial is launched with values for the parameters that it is expected to
/// ask for (ask_expected). A question that they do not answer is drawn when it comes. In the end the trial has what it asked for.
/// Thread safety: none.
template <Sampler S>
class LiveParams {
public:
    LiveParams(S& sampler, Bookkeeping& books, const TuneOptions& options) : sampler_{sampler}, books_{books}, options_{options} {}

    /// The value of a parameter. The first distribution of a name in an attempt counts. A question that the study cannot have is answered
    /// with an error for the program. Throws Error if the store or the sampler fails.
    Suggestion suggest(std::int64_t number, const std::string& name, const std::string& distribution) {
        Open& open = open_trial(number);
        if (const Param* known = open.asked.find(name)) return {known->value()};
        Distribution wanted;
        try {
            wanted = books_.distributions().admitted(name, options_.read_distribution("parameter '" + name + "'", distribution));
        } catch (const Error& error) {
            return {.error = error.what()};
        }
        Trial& trial = books_.trial(number);
        HeapOptional<ParamSet>& changed = trial.attempts.back().changed_params;
        const Param* const launched = params_of(trial, trial.attempts.back()).find(name);
        const bool is_as_expected = launched && *launched->distribution == wanted;  // then it may lie outside of it
        const auto expected = is_as_expected ? std::optional{launched->internal}
                              : launched     ? to_internal(wanted, launched->value())
                                             : std::nullopt;
        double internal = 0;
        try {
            internal = expected ? *expected : draw(number, open, name, wanted);
        } catch (const FixedValueError& error) {
            return {.error = error.what()};
        } catch (const NoSuggestion& error) {
            return {.error = error.what()};
        }
        open.asked.set(name, std::move(wanted), internal);
        const Param& asked = *open.asked.find(name);
        if (changed && !launched) changed->set(asked);
        ParamSet params = trial.params;
        if (const Param* known = params.find(name); !known || !expected || *known->distribution != *asked.distribution) {
            params.set(asked);
            books_.set_params(number, std::move(params));
        }
        return {asked.value()};
    }

    /// Call it once a trial has ended: it then has only the parameters that its latest attempt asked for. A trial that asked for none keeps
    /// what it was launched with, which says why it ended before.
    void settle(std::int64_t number) {
        const auto found = open_.find(number);
        if (found == open_.end()) return;
        const Trial& trial = books_.trial(number);
        ParamSet kept;
        for (const Param& asked : found->second.asked) {
            const Param* const param = trial.params.find(asked.name);
            kept.append(param && *param->distribution == *asked.distribution ? *param : asked);
        }
        if (!kept.empty() && kept != trial.params) books_.set_params(number, std::move(kept));
        open_.erase(found);
    }

    /// Forgets a trial that is given up.
    void forget(std::int64_t number) { open_.erase(number); }

private:
    struct Open {
        int attempt = 0;  ///< index of the attempt that asks
        ParamSet asked;
        FixedValues fixed;
        std::optional<ParamSet> joint{};
    };

    Open& open_trial(std::int64_t number) {
        const int attempt = books_.trial(number).attempts.back().index;
        const auto [at, is_new] = open_.try_emplace(number);
        if (is_new) at->second.fixed = books_.prescribed_values(number, options_);
        if (std::exchange(at->second.attempt, attempt) != attempt) at->second.asked = {};
        return at->second;
    }

    double draw(std::int64_t number, Open& open, const std::string& name, const Distribution& distribution) {
        const History history = books_.searched();
        return suggest_one(sampler_, TrialContext{number, history, Asker::program}, Seed{options_.seed}, open.fixed, open.joint, name,
                           distribution, books_.trial(number).params);
    }

    S& sampler_;
    Bookkeeping& books_;
    const TuneOptions& options_;
    std::map<std::int64_t, Open> open_;
};

}  // namespace hpo::tuner
