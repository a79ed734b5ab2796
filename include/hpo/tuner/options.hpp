// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/param_set.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/core/room_keeper.hpp"
#include "hpo/core/study.hpp"
#include "hpo/core/value.hpp"
#include "hpo/store/store.hpp"

namespace hpo {

/// How long and under which plan a study runs.
struct TuneOptions {
    /// Trials in all: complete, pruned and failed ones that the study already has count, lost and interrupted ones do not.
    std::int64_t trials = 100;
    std::vector<Direction> directions{Direction::minimize};
    std::uint64_t seed = 0;
    Store::Open open = Store::Open::create_or_resume;
    std::optional<double> time_seconds{};                ///< no trial is started after this
    std::vector<std::pair<std::string, Value>> fixed{};  ///< values that every trial must take
    ExecutionPlan plan{};                                ///< the first attempt's, before the guard
    std::string effective_batch_parameter{};             ///< copied into the plan; empty: none
    std::int64_t least_micro_batch = 1;                  ///< below which the guard does not shrink
    double target_share = 1;                             ///< of the device, which a plan that has to be shrunk keeps to where it can
    /// Proposals that the guard may refuse in a row before the study gives up.
    int max_rejections = 1000;
    /// Why the trainer cannot go from one plan to another (trainer/levers.hpp has the answer for a trainer that names its levers);
    /// nothing: it can. A retry that it refuses ends its trial, with the reason. Not set: the trainer obeys every plan.
    std::function<std::optional<std::string>(const ExecutionPlan& from, const ExecutionPlan& to)> refuses_plan{};
    /// What the trainer has against the parameters of a retry: a name that it lacks, a value that it does not take; nothing: it takes
    /// them. A retry that it refuses ends its trial, with the reason. Not set: the trainer takes whatever it is given.
    std::function<std::optional<std::string>(const ParamSet& params)> refuses_params{};
    int max_attempts = 20;  ///< of one trial, whatever the recovery policy says
    /// How often in a row a configuration may end the process that runs the study, before a checkpoint. Then it is not run again, and
    /// fails.
    int max_losses = 3;
    std::function<bool()> stop_requested{};  ///< asked between events; true: end running trials as interrupted and return
    /// Where the attempts of a trial may keep checkpoints, asked before each: a folder that is there. Not set: nowhere.
    std::function<std::string(const Trial& trial)> checkpoint_folder{};
    /// Whether a lost trial left checkpoints that another one can go on from. Nothing: it left none. Else why it cannot, and a text
    /// without characters: it can. Not set: a lost trial is run again from its beginning.
    std::function<std::optional<std::string>(const Trial& lost)> left_checkpoints{};
    /// Where an attempt of a trial writes its finished model, asked before each: an empty folder. Not set: models are not kept.
    std::function<std::string(std::int64_t trial)> model_folder{};
    RoomKeeper* room = nullptr;  ///< shares the device among attempts whose need is predicted; null: there is always room
    /// The trainer can predict needs: an attempt without a prediction that the guard asked for has the device alone. False: it has no part
    /// in `room`, until another one was predicted.
    bool predicts = false;
    /// This process, for stores that several processes share: together they then make `trials`, and replace what a dead one ran.
    std::optional<Run> run{};
};

/// What a finished call leaves.
struct TuneResult {
    Study study;
    std::vector<Trial> trials;
    bool interrupted = false;

    /// The best complete and feasible trial; null when there is none or the study has several objectives.
    [[nodiscard]] const Trial* best() const { return study.directions.size() == 1 ? best_trial(trials, study.directions[0]) : nullptr; }
};

/// An attribute that a trainer told and that is not kept.
struct DroppedAttribute {
    enum class Why { no_json, reserved };  ///< the store cannot keep it; the name is the tuner's (reserved_attributes.hpp)

    std::string name;
    std::string begin;  ///< of what it was
    Why why = Why::no_json;

    /// For a person.
    [[nodiscard]] std::string note() const {
        const std::string start = "attribute '" + name + "' ";
        if (why == Why::reserved)
            return start + "has a name that hpo keeps for itself, and is not kept: " + begin + "; give it another name";
        return start + "is no JSON and is not kept: " + begin + "; set_text writes a text as JSON";
    }
};

/// Told what happens, for a progress display. Every call happens on the tuner's thread after the store has it.
class TuneObserver {
public:
    virtual ~TuneObserver() = default;
    virtual void study_opened(const Study& /*study*/, const std::vector<Trial>& /*trials*/) {}
    /// A trial has been begun that goes on with a lost one after its reports, or runs it again where it has none.
    virtual void goes_on(const Trial& /*trial*/, const Trial& /*lost*/) {}
    /// A lost trial left checkpoints that no trial can go on from, and why: it is run again from its beginning.
    virtual void begins_anew(const Trial& /*lost*/, const std::string& /*why*/) {}
    /// A lost trial cannot be run again, and why: a new one replaces it.
    virtual void left_alone(const Trial& /*lost*/, const std::string& /*why*/) {}
    /// An enqueued value that a trial runs without, and why; once for each name.
    virtual void left_out(const Trial& /*trial*/, const std::string& /*what*/) {}
    virtual void attempt_started(const Trial& /*trial*/, const Attempt& /*attempt*/) {}
    virtual void reported(const Trial& /*trial*/, const Report& /*report*/) {}
    virtual void memory_marked(const Trial& /*trial*/, const MemoryMark& /*mark*/) {}
    virtual void attempt_ended(const Trial& /*trial*/, const Attempt& /*attempt*/) {}
    /// The first attempt of this call whose predicted peak was wrong by more than a tenth; `how` says what it took instead.
    virtual void mispredicted(const Trial& /*trial*/, const std::string& /*how*/) {}
    virtual void attribute_dropped(const Trial& /*trial*/, const DroppedAttribute& /*dropped*/) {}
    /// A source of predictions was too low too often for a model family: it is not asked about it any more.
    virtual void source_given_up(const std::string& /*source*/, const std::string& /*family*/) {}
    virtual void trial_finished(const Trial& /*trial*/) {}
    virtual void rejected(const Rejection& /*rejection*/) {}
    /// Other processes have begun or finished trials; these are all, with their latest state.
    virtual void others_changed(const std::vector<Trial>& /*trials*/) {}
    /// Nothing is left to begin: the missing trials run in other processes.
    virtual void waiting_for_others(std::int64_t /*missing*/) {}
    virtual void idle() {}  ///< several times a second
};

}  // namespace hpo
