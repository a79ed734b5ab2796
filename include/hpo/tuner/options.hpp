// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/param_set.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/core/reservations.hpp"
#include "hpo/core/study.hpp"
#include "hpo/core/value.hpp"
#include "hpo/recovery/concept.hpp"
#include "hpo/store/configurations.hpp"
#include "hpo/store/store.hpp"
#include "hpo/tuner/breaker.hpp"

namespace hpo {

/// TuneOptions::trials of a study that runs until something else ends it.
inline constexpr std::int64_t endless_trials = std::numeric_limits<std::int64_t>::max() / 4;

/// How long and under which plan a study runs.
struct TuneOptions {
    /// Trials in all. Complete, pruned and failed trials that the study already has count. Lost and interrupted ones do not.
    std::int64_t trials = 100;
    /// Trials that this run makes itself, whatever others have done or add meanwhile. If set, `trials` bounds nothing.
    std::optional<std::int64_t> own_trials{};
    std::vector<Direction> directions{Direction::minimize};
    std::uint64_t seed = 0;
    /// Trials of each configuration, which differ in their seed alone. The others are enqueued once the first is complete and feasible.
    /// Samplers learn their mean once all of them have ended, and they are not pruned. Each counts as a trial.
    std::int64_t seeds = 1;
    Store::Open open = Store::Open::create_or_resume;
    std::optional<double> time_seconds{};  ///< no trial is started after this
    /// Values that every trial must take. A name that the space never asks for is an error before the first trial. Some names only come in
    /// some trials. Such a name is no error, and TuneResult::unused_fixed has it if no trial took it. An objective that asks while it runs
    /// has no space: the error then comes at the end, once the store has all trials.
    std::vector<std::pair<std::string, Value>> fixed{};
    ExecutionPlan plan{};                     ///< of the first attempt, before the guard changes it
    std::string effective_batch_parameter{};  ///< copied into the plan; empty: none
    std::int64_t least_micro_batch = 1;       ///< the guard does not shrink the micro-batch below this
    double target_share = 1;                  ///< if a plan has to be shrunk: the share of the device that it should keep to
    /// Proposals that the guard may refuse in a row before the study gives up.
    int max_rejections = 1000;
    /// A refused retry ends its trial, with the reason. trainer/levers.hpp has the answer for a trainer that names its levers.
    PlanRefusal refuses_plan{};
    /// Says why the trainer refuses the parameters of a retry (an unknown name, a value that it does not take), or nullopt if it takes
    /// them. A refused retry ends its trial, with the reason. If not set, the trainer takes all parameters.
    std::function<std::optional<std::string>(const ParamSet& params)> refuses_params{};
    int max_attempts = 20;  ///< of one trial, whatever the recovery policy says
    /// How often in a row a configuration may end the process that runs the study before it wrote a checkpoint. After that it is not run
    /// again, and its trial fails.
    int max_losses = 3;
    /// So many trials of this run that fail in the same way one after another end it (Breaker). 0: never.
    std::int64_t breaker = 10;
    std::function<bool(const Failure&)> breaker_counts{};  ///< false: such a failure never ends the run; not set: all count
    /// Called with each trial that has ended, once the store has it, and before an observer or a policy sees it. Returns constraints that
    /// the caller has found and stored meanwhile. If not set, a trial has those that its trainer told.
    std::function<std::map<std::string, double, std::less<>>(const Trial& trial)> constraints_after_end{};
    std::function<bool()> enough{};          ///< asked before a trial is begun; if true, no further trial is begun
    std::function<bool()> stop_requested{};  ///< asked between events; if true, running trials end as interrupted and the call returns
    /// Returns an existing folder for the checkpoints of a trial's attempts. Called before each attempt. If not set, no checkpoints are
    /// kept.
    std::function<std::string(const Trial& trial)> checkpoint_folder{};
    /// Says whether another trial can go on from the checkpoints of a lost one. Returns nullopt if the lost trial left none, an empty text
    /// if another trial can go on, else why it cannot. If not set, a lost trial is run again from its beginning.
    std::function<std::optional<std::string>(const Trial& lost)> left_checkpoints{};
    /// Returns an empty folder for the finished model of a trial. Called before each attempt. If not set, models are not kept.
    std::function<std::string(std::int64_t trial)> model_folder{};
    /// Shares the device among attempts with predicted memory. If null, the attempts of this run share the capacity of an executor that
    /// asks for it (Executor::shares_capacity), as InThreads does. With any other executor, every attempt then starts at once.
    Reservations* reservations = nullptr;
    /// True if the trainer can predict memory. An attempt without a prediction then has the device alone. If false, such an attempt takes
    /// no reservation until another attempt was predicted.
    bool predicts = false;
    /// Finished trials of other studies that ran the same program with the same options, the oldest first. The guard learns from the peaks
    /// of those that ran on a device of the same name, if it learns peaks.
    std::vector<Trial> same_program{};
    /// Reads the distribution of a parameter that a running trial asks for (Question). Throws Error that names `place`.
    /// Set it if the trials ask for their parameters while they run. Before that, they have what earlier trials let expect
    /// (asking/expected_space.hpp), and the space is not used.
    std::function<Distribution(const std::string& place, const std::string& text)> read_distribution{};
    /// This process, for stores that several processes share. The processes then make `trials` together, and replace the lost trials of a
    /// dead one.
    std::optional<Run> run{};

    /// True if the trials ask for their parameters while they run.
    [[nodiscard]] bool asks_while_running() const noexcept { return read_distribution != nullptr; }
    /// False once no trial may be begun any more, so long after the beginning of the run.
    [[nodiscard]] bool allows_more(double seconds) const { return !(time_seconds && seconds >= *time_seconds) && !(enough && enough()); }
};

/// What a finished call of `optimize` returns.
struct TuneResult {
    Study study;
    std::vector<Trial> trials;  ///< without the details of finished ones (tuner/finished_trial.hpp), which the store has
    bool interrupted = false;
    std::optional<BreakerTrip> broken{};      ///< why the breaker ended the run before all trials were done
    std::optional<std::string> exhausted{};   ///< why no configuration was left to try before all trials were done: each failed before
    bool all_tried = false;                   ///< the sampler had proposed every configuration (ExhaustiveSampler)
    std::vector<std::string> unused_fixed{};  ///< names of TuneOptions::fixed that no trial of the study asked for

    /// The best complete and feasible trial. Null if there is none, or if the study has several objectives. Of trials that differ in their
    /// seed alone it is the first of those whose mean is best.
    [[nodiscard]] const Trial* best() const {
        if (study.directions.size() != 1) return nullptr;
        Configurations configurations;
        const Trial* const best = best_trial(configurations.of(trials), study.directions[0]);
        return best ? &trials.at(static_cast<std::size_t>(best->number)) : nullptr;
    }
};

}  // namespace hpo
