// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/seed.hpp"
#include "hpo/torch/attempt.hpp"
#include "hpo/torch/autocast.hpp"
#include "hpo/torch/batch_loader.hpp"
#include "hpo/torch/epoch_order.hpp"
#include "hpo/torch/prepared_model.hpp"
#include "hpo/torch/saved_model.hpp"
#include "hpo/torch/settled_need.hpp"
#include "hpo/torch/task.hpp"
#include "hpo/torch/training_checkpoint.hpp"
#include "hpo/torch/training_plan.hpp"
#include "hpo/torch/training_state.hpp"
#include "hpo/torch/training_step.hpp"

namespace hpo::torch {

/// Evaluates and returns every metric. Throws NonFiniteLoss when the objective is not a number.
[[nodiscard]] inline Metrics evaluate(const Task& task, Model& model, const TrainingPlan& plan, RunningAttempt& attempt) {
    attempt.enter("evaluation");
    const ::torch::NoGradGuard no_gradients;
    const Autocast autocast{attempt.device(), plan.precision};
    model.eval();
    Metrics metrics = task.evaluate(model, EvaluationPlan{attempt.device(), plan.evaluation_batch});
    const auto objective = metrics.find(plan.metric);
    if (objective == metrics.end()) throw Error{Errc::plugin, "the evaluation did not tell the metric '" + plan.metric + "'"};
    if (!std::isfinite(objective->second)) throw NonFiniteLoss{plan.metric + " is " + number_text(objective->second)};
    return metrics;
}

/// The epochs that a report's step stands for: "2", "2.25".
[[nodiscard]] inline std::string epochs_text(std::int64_t report, const TrainingPlan& plan) {
    if (report % plan.reports_per_epoch == 0) return std::to_string(report / plan.reports_per_epoch);
    return number_text(static_cast<double>(report) / static_cast<double>(plan.reports_per_epoch));
}

/// "epoch 2 of 3: training loss 0.41, accuracy 0.85, loss 0.4"
[[nodiscard]] inline std::string epoch_line(const TrainingState& state, const TrainingPlan& plan, double training_loss) {
    std::string line = "epoch " + epochs_text(state.report, plan) + " of " + std::to_string(plan.epochs) + ": training loss " +
                       display_text(training_loss);
    for (const auto& [name, value] : state.metrics) line += ", " + name + " " + display_text(value);
    return line;
}

/// The outcome of a model with these metrics, and with what the task adds to them.
[[nodiscard]] inline AttemptOutcome measured_outcome(const Task& task, Model& model, const TrainingPlan& plan, const Metrics& metrics,
                                                     RunningAttempt& attempt) {
    attempt.enter("evaluation");
    AttemptOutcome outcome;
    outcome.kind = OutcomeKind::complete;
    const ::torch::NoGradGuard no_gradients;
    const Autocast autocast{attempt.device(), plan.precision};
    model.eval();
    task.finish(model, EvaluationPlan{attempt.device(), plan.evaluation_batch}, outcome.attributes);
    for (const auto& [name, value] : metrics) outcome.attributes.set_number(name, value);
    outcome.values = {metrics.at(plan.metric)};
    return outcome;
}

/// Trains a model once. Everything that a step changes is in its TrainingState; everything else follows from task, plan and seed.
class TrainingLoop {
public:
    TrainingLoop(Task& task, const TrainingPlan& plan, Seed seed, RunningAttempt& attempt)
        : task_{task}, plan_{plan}, seed_{seed}, attempt_{attempt}, examples_{task.training_examples()} {}

    [[nodiscard]] AttemptOutcome run() {
        begin();
        while (!ended()) {
            const Stretch stretch = next_stretch();
            if (stretch.steps == 0) continue;
            const std::optional<double> training_loss = train_stretch(stretch);
            if (!training_loss || !tell(*training_loss)) return stopped();
            keep_checkpoint();
            settle();
        }
        return finished();
    }

private:
    void begin() {
        for (const std::string& remark : task_.remarks()) attempt_.progress().log(remark);
        state_.emplace(begin_training(task_, plan_, seed_, attempt_));
        checkpoints_.resume(*state_);
        attempt_.mark("training_start");
        if (attempt_.settles()) settled_need_.emplace().begin(attempt_.memory());
        first_step_ = state_->step;
        first_report_ = state_->report;
    }

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
    [[nodiscard]] Stretch next_stretch() {
        const std::int64_t of_epoch = state_->report % plan_.reports_per_epoch;
        const std::int64_t first = steps_per_epoch() * of_epoch / plan_.reports_per_epoch;
        const std::int64_t next = steps_per_epoch() * (of_epoch + 1) / plan_.reports_per_epoch;
        return {.epoch = state_->report++ / plan_.reports_per_epoch + 1, .first = first, .steps = next - first};
    }

    /// The mean loss; nothing when somebody asked the attempt to end.
    [[nodiscard]] std::optional<double> train_stretch(const Stretch& stretch) {
        TrainingState& state = *state_;
        std::vector<std::int64_t> order = epoch_order(task_, {.number = stretch.epoch, .effective_batch = plan_.effective_batch}, seed_);
        const std::int64_t from = stretch.first * plan_.effective_batch;
        const std::int64_t to = std::min(from + stretch.steps * plan_.effective_batch, examples_);
        order = {order.begin() + from, order.begin() + to};
        BatchLoader loader{
            task_,
            {.order = std::move(order),
             .epoch = {.number = stretch.epoch, .seed = seed_.derive("augmentation").derive(static_cast<std::uint64_t>(stretch.epoch))},
             .effective_batch = plan_.effective_batch,
             .micro_batch = plan_.micro_batch,
             .workers = plan_.loader_workers},
            attempt_.device()};
        enter_training(*state.model, state.parts);
        double loss = 0;
        for (std::int64_t start = from; start < to; start += plan_.effective_batch, ++state.step) {
            const std::int64_t count = std::min(plan_.effective_batch, to - start);
            ::torch::manual_seed(seed_.derive("noise").derive(static_cast<std::uint64_t>(state.step)).value);
            const std::optional<double> mean_loss = take_step(loader, count);
            if (!mean_loss) return std::nullopt;
            loss += *mean_loss * static_cast<double>(count);
        }
        return loss / static_cast<double>(to - from);
    }

    /// The mean loss of a step; nothing when somebody asked the attempt to end.
    [[nodiscard]] std::optional<double> take_step(BatchLoader& loader, std::int64_t examples) {
        TrainingState& state = *state_;
        const double scheduled = plan_.schedule.factor({.number = state.step, .of = steps_per_epoch() * plan_.epochs});
        TrainingStep step{{.task = task_,
                           .model = *state.model,
                           .loader = loader,
                           .optimizer = state.optimizer,
                           .loss_scale = state.loss_scale,
                           .attempt = attempt_,
                           .examples = examples,
                           .number = state.step + 1,
                           .precision = plan_.precision,
                           .learning_rate = plan_.optimizer.learning_rate * scheduled,
                           .clip_norm = plan_.clip_norm,
                           .before_update = [&] {
                               if (settled_need_ && state_->step == first_step_) settled_need_->first_pass(attempt_.memory());
                           }}};
        try {
            if (!task_.has_own_step()) return plain_step(task_, step);
            attempt_.enter("forward");
            const double loss = task_.training_step(step);
            step.end_own(loss);
            return loss;
        } catch (const TrainingStep::Stopped&) {
            return std::nullopt;
        }
    }

    /// Measures, logs and reports. False: the trial was pruned.
    [[nodiscard]] bool tell(double training_loss) {
        TrainingState& state = *state_;
        state.metrics = evaluate(task_, *state.model, plan_, attempt_);
        const double value = state.metrics.at(plan_.metric);
        if (plan_.patience > 0)
            state.best.see({.step = state.report, .value = value, .metrics = state.metrics}, plan_.direction, *state.model);
        attempt_.progress().log(epoch_line(state, plan_, training_loss));
        if (ended()) attempt_.progress().last_step(state.report);
        return attempt_.progress().report(state.report, value);
    }

    /// None after the last report: what is left to do is soon done again from the one before.
    void keep_checkpoint() {
        TrainingState& state = *state_;
        if (ended() || !checkpoints_.due()) return;
        attempt_.enter("checkpoint");
        try {
            checkpoints_.write(state);
            attempt_.progress().checkpointed(state.report);
        } catch (const std::exception& error) {  // a training that goes well is not ended for it
            attempt_.progress().log(std::string{"no checkpoint: "} + error.what());
        }
    }

    /// Once the attempt has met as much as an epoch, unless it has ended.
    void settle() {
        if (!settled_need_ || state_->report < first_report_ + plan_.reports_per_epoch || state_->report >= plan_.last_report()) return;
        attempt_.settle(settled_need_->after_epoch(attempt_.memory()));
        settled_need_.reset();
    }

    [[nodiscard]] AttemptOutcome stopped() const {
        AttemptOutcome outcome;
        outcome.kind = OutcomeKind::stopped;
        outcome.approximate = approximate();
        return outcome;
    }

    [[nodiscard]] AttemptOutcome finished() {
        TrainingState& state = *state_;
        attempt_.mark("training_end");
        attempt_.enter("evaluation");
        if (plan_.patience > 0) {
            state.best.restore(*state.model);
            state.metrics = state.best.metrics;
        }
        AttemptOutcome outcome = measured_outcome(task_, *state.model, plan_, state.metrics, attempt_);
        outcome.approximate = approximate();
        if (!plan_.model_folder.empty()) keep_model();
        if (plan_.patience > 0) outcome.attributes.insert_or_assign("best_epoch", epochs_text(state.best.step, plan_));
        return outcome;
    }

    /// Where the model cannot be written, its folder is left empty: what the trial found out counts all the same.
    void keep_model() {
        try {
            save_model(task_, *state_->model, plan_.model_folder, attempt_);
        } catch (const std::exception& error) {
            attempt_.progress().log(std::string{"no saved model: "} + error.what());
            empty_folder(plan_.model_folder);
        }
    }

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
