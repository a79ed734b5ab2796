// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "hpo/core/seed.hpp"
#include "hpo/torch/attempt.hpp"
#include "hpo/torch/batch_loader.hpp"
#include "hpo/torch/settled_need.hpp"
#include "hpo/torch/task.hpp"
#include "hpo/torch/training_checkpoint.hpp"
#include "hpo/torch/training_plan.hpp"
#include "hpo/torch/training_state.hpp"

namespace hpo::torch {

/// Evaluates and returns every metric. Throws NonFiniteLoss when the objective is not a number.
[[nodiscard]] Metrics evaluate(const Task& task, Model& model, const TrainingPlan& plan, RunningAttempt& attempt);

/// The epochs that a report's step stands for: "2", "2.25".
[[nodiscard]] inline std::string epochs_text(std::int64_t report, const TrainingPlan& plan) {
    if (report % plan.reports_per_epoch == 0) return std::to_string(report / plan.reports_per_epoch);
    return number_text(static_cast<double>(report) / static_cast<double>(plan.reports_per_epoch));
}

/// "epoch 2 of 3: training loss 0.41, accuracy 0.85, loss 0.4"
[[nodiscard]] std::string epoch_line(const TrainingState& state, const TrainingPlan& plan, double training_loss);

/// The outcome of a model with these metrics, and with what the task adds to them.
[[nodiscard]] AttemptOutcome measured_outcome(const Task& task, Model& model, const TrainingPlan& plan, const Metrics& metrics,
                                              RunningAttempt& attempt);

/// Trains a model once. Everything that a step changes is in its TrainingState; everything else follows from task, plan and seed.
class TrainingLoop {
public:
    TrainingLoop(Task& task, const TrainingPlan& plan, Seed seed, RunningAttempt& attempt)
        : task_{task}, plan_{plan}, seed_{seed}, attempt_{attempt}, examples_{task.training_examples()} {}

    [[nodiscard]] AttemptOutcome run();

private:
    void begin();

    /// The steps of an epoch between two reports.
    struct Stretch {
        std::int64_t epoch = 1;  ///< from 1
        std::int64_t first = 0;  ///< of the epoch's steps
        std::int64_t steps = 0;  ///< 0: the epoch has fewer steps than reports
    };

    [[nodiscard]] std::int64_t steps_per_epoch() const { return (examples_ + plan_.effective_batch - 1) / plan_.effective_batch; }
    [[nodiscard]] bool ended() const {
        return state_->report >= plan_.last_report() || state_->best.exhausted(state_->report, plan_.patience * plan_.reports_per_epoch);
    }
    /// Up to the next report, whose step the state then has.
    [[nodiscard]] Stretch next_stretch();

    /// The mean loss; nothing when somebody asked the attempt to end.
    [[nodiscard]] std::optional<double> train_stretch(const Stretch& stretch);

    /// The mean loss of a step; nothing when somebody asked the attempt to end.
    [[nodiscard]] std::optional<double> take_step(BatchLoader& loader, std::int64_t examples);

    /// Measures, logs and reports. False: the trial was pruned.
    [[nodiscard]] bool tell(double training_loss);

    /// None after the last report: what is left to do is soon done again from the one before.
    void keep_checkpoint();

    /// Once the attempt has met as much as an epoch, unless it has ended.
    void settle();

    [[nodiscard]] AttemptOutcome stopped() const;

    [[nodiscard]] AttemptOutcome finished();

    /// Where the model cannot be written, its folder is left empty: what the trial found out counts all the same.
    void keep_model();

    [[nodiscard]] bool approximate() const { return task_.mixes_examples() && plan_.micro_batch < std::min(plan_.batch, examples_); }

    Task& task_;
    const TrainingPlan& plan_;
    Seed seed_;
    RunningAttempt& attempt_;
    std::int64_t examples_;
    std::optional<TrainingState> state_;
    Checkpoints checkpoints_{plan_.checkpoints};
    std::optional<SettledNeed> settled_need_;  ///< until it is told
    std::int64_t first_step_ = 0;              ///< TrainingState::step when the attempt began
    std::int64_t first_report_ = 0;            ///< TrainingState::report then
};

/// Trains a model and returns how that ended; tells the objective reports_per_epoch times an epoch, steps counted from 1. The trial's value
/// and metrics are those of the last report or, where the plan has patience, of the best. The same seed, plan, threads and LibTorch give
/// the same.
[[nodiscard]] inline AttemptOutcome train(Task& task, const TrainingPlan& plan, Seed seed, RunningAttempt& attempt) {
    return TrainingLoop{task, plan, seed, attempt}.run();
}

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/training_loop_inl.hpp"
#endif
