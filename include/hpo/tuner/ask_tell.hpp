// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/pruner/concept.hpp"
#include "hpo/sampler/concept.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/store/retries.hpp"
#include "hpo/tuner/lost_trials.hpp"
#include "hpo/tuner/open_trials.hpp"
#include "hpo/tuner/study_event.hpp"

namespace hpo::tuner {

/// A study whose trials the caller runs, in any order and any number at once: it asks for a trial, and later tells how the trial ended.
///
///     hpo::tuner::AskTell study{store, "study", hpo::sampler::Tpe{}, hpo::pruner::Median{}, options, observer};
///     const auto asked = study.ask({{"x", hpo::FloatDistribution{0, 1}}});
///     study.tell(asked.trial, {.values = {error_of(asked.params)}});
///
/// What a call did is in the store when it returns. All calls throw Error for wrong use, and Error{Errc::store} if the store fails.
/// Thread safety: none.
template <Sampler S, Pruner P>
class AskTell : public OpenTrials {
public:
    AskTell(Store& store, const std::string& study, S sampler, P pruner, TuneOptions options, TuneObserver& observer)
        : OpenTrials{store, study, std::move(options), observer}, sampler_{std::move(sampler)}, pruner_{std::move(pruner)} {}

    struct Asked {
        std::int64_t trial = -1;
        ParamSet params{};
        std::optional<std::int64_t> in_place_of{};  ///< the lost trial that it runs again
        std::vector<std::string> notes{};           ///< what a person should know of its enqueued values
    };

    /// Begins a trial with a value for each parameter of `space`. Without a space its parameters are suggested while it runs. Throws
    /// bad_value for a space that the study cannot have; no trial is begun then. Throws FixedValueError if an enqueued trial has a value
    /// that the space does not have; that trial is then FAIL.
    Asked ask(NamedDistributions space = {}) {
        for (auto& [name, distribution] : space) distribution = books_.distributions().admitted(name, std::move(distribution));
        Asked asked;
        asked.trial = begin();
        const auto history = retry_history(books_.trial(asked.trial));
        try {
            if (!space.empty()) propose(asked.trial, space);
        } catch (const FixedValueError& error) {
            throw refuse_enqueued(asked.trial, error.what());
        } catch (...) {
            open_.erase(asked.trial);
            give_up(asked.trial, books_);
            throw;
        }
        const Open& begun = open(asked.trial);
        asked.params = begun.params;
        if (begun.is_again) asked.in_place_of = history.back();
        if (!space.empty()) asked.notes = unused_values(asked.trial);
        return asked;
    }

    /// The value of one more parameter of an open trial. The first distribution of a name in a trial counts. Throws bad_value for a
    /// distribution that the study cannot have, and FixedValueError for an enqueued value that the distribution does not have.
    Value suggest(std::int64_t trial, const std::string& name, Distribution distribution) {
        Open& current = open(trial);
        distribution = books_.distributions().admitted(name, std::move(distribution));
        if (const Param* present = current.params.find(name)) return present->value();
        double internal = 0;
        try {
            internal = draw(trial, current, name, distribution);
        } catch (const FixedValueError& error) {
            if (!current.is_again) throw;
            draw_anew(trial, current, error.what());
            internal = draw(trial, current, name, distribution);
        }
        ParamSet params = current.params;
        params.set(name, std::move(distribution), internal);
        // Until they are complete, the parameters of a lost trial stay in the store: the trial may be lost again.
        if (!current.is_again || params.size() > books_.trial(trial).params.size()) books_.set_params(trial, params);
        current.params = std::move(params);
        return current.params.find(name)->value();
    }

    struct Reported {
        bool prune = false;        ///< the trial is not worth finishing
        bool is_repeated = false;  ///< the step has a value already, which stays
    };
    /// Keeps an intermediate value and asks the pruner. A study with several objectives prunes no trial.
    Reported report(std::int64_t trial, const Report& told) {
        Open& current = open(trial);
        if (told.step < 0) throw bad_value("trial " + std::to_string(trial) + ": step", std::to_string(told.step), "0 or more");
        Report kept = told;
        const auto& earlier = books_.trial(trial).intermediate;
        const auto present = earlier.find(told.step);
        const bool is_repeated = present != earlier.end();
        if (is_repeated) kept.value = present->second;
        const Verdict verdict = books_.report_and_judge(trial, kept, pruner_);
        if (verdict.prunes()) current.prune_reason = verdict.reason;
        return {.prune = verdict.prunes(), .is_repeated = is_repeated};
    }

private:
    void propose(std::int64_t number, const NamedDistributions& space) {
        Open& current = open(number);
        const Space all = [&](SpaceTrial& trial) {
            for (const auto& [name, distribution] : space) trial.draw(name, distribution, {});
        };
        const auto suggest_all = [&] {
            const History history = books_.searched();
            return suggest_params(sampler_, all, TrialContext{number, history}, Seed{options_.seed}, current.fixed);
        };
        ParamSet params;
        try {
            params = suggest_all();
        } catch (const FixedValueError& error) {
            if (!current.is_again) throw;
            draw_anew(number, current, error.what());
            params = suggest_all();
        }
        current.params = params;
        books_.set_params(number, std::move(params));
    }

    double draw(std::int64_t number, Open& current, const std::string& name, const Distribution& distribution) {
        const History history = books_.searched();
        return suggest_one(sampler_, TrialContext{number, history}, Seed{options_.seed}, current.fixed, current.joint, name, distribution,
                           current.params);
    }

    S sampler_;
    P pruner_;
};

}  // namespace hpo::tuner
