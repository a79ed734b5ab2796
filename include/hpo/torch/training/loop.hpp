// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "hpo/core/seed.hpp"
#include "hpo/torch/attempt.hpp"
#include "hpo/torch/task.hpp"
#include "hpo/torch/training/batch_loader.hpp"
#include "hpo/torch/training/checkpoint.hpp"
#include "hpo/torch/training/plan.hpp"
#include "hpo/torch/training/settled_need.hpp"
#include "hpo/torch/training/state.hpp"

namespace hpo::libtorch {

/// Evaluates and returns every metric. Throws NonFiniteLoss if the objective is not finite.
[[nodiscard]] Metrics evaluate(const Task& task, Model& model, const TrainingPlan& plan, RunningAttempt& attempt);

/// The number of epochs after a report's step: "2", "2.25".
[[nodiscard]] inline std::string epochs_text(std::int64_t report, const TrainingPlan& plan) {
    if (report % plan.reports_per_epoch == 0) return std::to_string(report / plan.reports_per_epoch);
    return number_text(static_cast<double>(report) / static_cast<double>(plan.reports_per_epoch));
}

/// "epoch 2 of 3: training loss 0.41, accuracy 0.85, loss 0.4"
[[nodiscard]] std::string epoch_line(const TrainingState& state, const TrainingPlan& plan, double training_loss);

/// The outcome of a model with these metrics and the attributes that the task adds.
[[nodiscard]] AttemptOutcome measured_outcome(const Task& task, Model& model, const TrainingPlan& plan, const Metrics& metrics,
                                              RunningAttempt& attempt);

/// Trains a model once. Its TrainingState holds everything that a step changes. Everything else follows from task, plan and seed.
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
        std::int64_t steps = 0;  ///< 0 occurs if the epoch has fewer steps than reports
    };

    [[nodiscard]] std::int64_t steps_per_epoch() const { return (examples_ + plan_.effective_batch - 1) / plan_.effective_batch; }
    [[nodiscard]] bool ended() const {
        return state_->report >= plan_.last_report() || state_->best.exhausted(state_->report, plan_.patience * plan_.reports_per_epoch);
    }
    /// Returns the steps up to the next report, and counts that report in the state.
    [[nodiscard]] Stretch next_stretch();

    /// The mean loss. Returns nullopt if the attempt was asked to stop.
    [[nodiscard]] std::optional<double> train_stretch(const Stretch& stretch);

    /// The mean loss of a step. Returns nullopt if the attempt was asked to stop.
    [[nodiscard]] std::optional<double> take_step(BatchLoader& loader, std::int64_t examples);

    /// Evaluates, logs and reports. Returns false if the trial was pruned.
    [[nodiscard]] bool tell(double training_loss);

    /// Writes a checkpoint if one is due. After the last report none is written, since little is left to repeat.
    void keep_checkpoint();

    /// Settles the attempt's memory once, after its first full epoch, unless the training has ended.
    void settle();

    [[nodiscard]] AttemptOutcome stopped() const;

    [[nodiscard]] AttemptOutcome finished();

    /// Saves the model. If that fails, its folder is emptied and the trial's result still counts.
    void keep_model();

    [[nodiscard]] bool approximate() const { return task_.mixes_examples() && plan_.micro_batch < std::min(plan_.batch, examples_); }

    Task& task_;
    const TrainingPlan& plan_;
    Seed seed_;
    RunningAttempt& attempt_;
    std::int64_t examples_;
    std::optional<TrainingState> state_;
    Checkpoints checkpoints_{plan_.checkpoints};
    std::optional<SettledNeed> settled_need_;  ///< until the attempt has settled
    std::int64_t first_step_ = 0;              ///< TrainingState::step when the attempt began
    std::int64_t first_report_ = 0;            ///< TrainingState::report then
};

/// Trains a model and returns its outcome. Reports the objective reports_per_epoch times an epoch, with steps counted from 1. The trial's
/// value and metrics are those of the last report or, if the plan has patience, of the best. Equal seed, plan, threads and LibTorch give
/// equal results.
[[nodiscard]] inline AttemptOutcome train(Task& task, const TrainingPlan& plan, Seed seed, RunningAttempt& attempt) {
    return TrainingLoop{task, plan, seed, attempt}.run();
}

}  // namespace hpo::libtorch
