// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/time.hpp"
#include "hpo/core/attributes.hpp"
#include "hpo/core/distribution.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/tuner/bookkeeping.hpp"
#include "hpo/tuner/enqueued.hpp"

namespace hpo::tuner {

/// The parameters of a trial whose names are known before it runs.
using NamedDistributions = std::vector<std::pair<std::string, Distribution>>;

/// How a trial ended, as the caller tells it.
struct Told {
    TrialState state = TrialState::complete;  ///< complete, pruned or fail
    std::vector<double> values{};             ///< one for each objective if complete, else none
    Constraints constraints{};
    Attributes attributes{};  ///< for the trial's user attributes
    std::string error{};      ///< of a failed trial: its message, which is classified
};

/// Why trials end that were not told.
enum class LeftOpen {
    stopped,      ///< the study is closed in order
    caller_gone,  ///< the program that ran them is gone; if that happens again and again, a configuration is not run any more
};

/// The trials of a study that were begun and not told yet. AskTell adds the policies.
/// Thread safety: none.
class OpenTrials {
public:
    /// Opens the study, or makes it. `options.run` names the process; its trials are lost if it dies. Of `options` only `directions`,
    /// `seed`, `open`, `fixed`, `max_losses` and `run` count.
    OpenTrials(Store& store, const std::string& study, TuneOptions options, TuneObserver& observer)
        : options_{std::move(options)}, observer_{observer}, books_{store, study, options_, observer} {}

    [[nodiscard]] const Study& study() const noexcept { return books_.study(); }
    /// All trials of the study by number. Those of other processes are as of the latest call that began or enqueued a trial, or refreshed.
    [[nodiscard]] std::span<const Trial> trials() const noexcept { return books_.history().trials; }
    void refresh() { books_.read_others(); }
    /// The numbers of the open trials.
    [[nodiscard]] std::vector<std::int64_t> numbers() const;

    /// Adds a trial with these values, which a later `ask` begins. Returns its number. Throws bad_value for a name that no parameter has.
    std::int64_t enqueue(const FixedValues& values);
    /// Ends an open trial. Returns what a person should know of its enqueued values. Throws bad_value for what does not go together, and
    /// the trial stays open.
    std::vector<std::string> tell(std::int64_t number, Told told);
    /// Ends all open trials as lost, so that a later `ask` begins them again.
    void close(LeftOpen why);
    /// Says that this process is alive. Call it every few seconds, also while nothing is asked.
    void heartbeat() { books_.heartbeat(); }

protected:
    struct Open {
        FixedValues fixed;                ///< the values that it must have
        ParamSet params;                  ///< that were suggested
        bool is_again = false;            ///< runs with the parameters of a lost trial
        std::optional<ParamSet> joint{};  ///< the sampler's draw for all parameters, once one was suggested alone
        std::string prune_reason;
        Stopwatch since_begin{};
    };

    [[nodiscard]] Open& open(std::int64_t number);
    /// Begins a lost trial again, or an enqueued or a new trial.
    std::int64_t begin();
    /// Lets a trial draw its own values in place of those of the lost trial.
    void draw_anew(std::int64_t number, Open& trial, const std::string& why);
    /// Ends a trial whose enqueued values the space does not have. Returns the error to throw.
    [[nodiscard]] FixedValueError refuse_enqueued(std::int64_t number, const std::string& why);
    [[nodiscard]] std::vector<std::string> unused_values(std::int64_t number) { return enqueued_.not_used(books_.trial(number)); }

    TuneOptions options_;
    TuneObserver& observer_;
    Bookkeeping books_;
    std::map<std::int64_t, Open> open_;

private:
    void finish(std::int64_t number, AttemptOutcome outcome);

    EnqueuedValues enqueued_;
};

}  // namespace hpo::tuner

#ifndef HPO_COMPILED
#include "hpo/tuner/impl/open_trials_inl.hpp"
#endif
