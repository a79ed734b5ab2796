// SPDX-License-Identifier: MIT
#include "hpo/torch/training/loop.hpp"

#include <torch/torch.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/torch/autocast.hpp"
#include "hpo/torch/training/prepared_model.hpp"
#include "hpo/torch/training/step.hpp"
#include "torch/adaptation/model_parts.hpp"
#include "torch/saved_model.hpp"
#include "torch/training/epoch_order.hpp"

namespace hpo::libtorch {

Metrics evaluate(const Task& task, Model& model, const TrainingPlan& plan, RunningAttempt& attempt) {
    attempt.enter("evaluation");
    const torch::NoGradGuard no_gradients;
    const Autocast autocast{attempt.device(), plan.precision};
    model.eval();
    Metrics metrics = task.evaluate(model, EvaluationPlan{attempt.device(), plan.evaluation_batch});
    const auto objective = metrics.find(plan.metric);
    if (objective == metrics.end()) throw Error{Errc::plugin, "the evaluation did not tell the metric '" + plan.metric + "'"};
    if (!std::isfinite(objective->second)) throw NonFiniteLoss{plan.metric + " is " + number_text(objective->second)};
    return metrics;
}

std::string epoch_line(const TrainingState& state, const TrainingPlan& plan, double training_loss) {
    std::string line = "epoch " + epochs_text(state.report, plan) + " of " + std::to_string(plan.epochs) + ": training loss " +
                       display_text(training_loss);
    for (const auto& [name, value] : state.metrics) line += ", " + name + " " + display_text(value);
    return line;
}

AttemptOutcome measured_outcome(const Task& task, Model& model, const TrainingPlan& plan, const Metrics& metrics, RunningAttempt& attempt) {
    attempt.enter("evaluation");
    AttemptOutcome outcome;
    outcome.kind = OutcomeKind::complete;
    const torch::NoGradGuard no_gradients;
    const Autocast autocast{attempt.device(), plan.precision};
    model.eval();
    task.finish(model, EvaluationPlan{attempt.device(), plan.evaluation_batch}, outcome.attributes);
    for (const auto& [name, value] : metrics) outcome.attributes.set_number(name, value);
    outcome.values = {metrics.at(plan.metric)};
    return outcome;
}

AttemptOutcome TrainingLoop::run() {
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

void TrainingLoop::begin() {
    for (const std::string& remark : task_.remarks()) attempt_.progress().log(remark);
    state_.emplace(begin_training(task_, plan_, seed_, attempt_));
    checkpoints_.resume(*state_);
    attempt_.mark("training_start");
    if (attempt_.settles()) settled_need_.emplace().begin(attempt_.memory());
    first_step_ = state_->step;
    first_report_ = state_->report;
}

TrainingLoop::Stretch TrainingLoop::next_stretch() {
    const std::int64_t of_epoch = state_->report % plan_.reports_per_epoch;
    const std::int64_t first = steps_per_epoch() * of_epoch / plan_.reports_per_epoch;
    const std::int64_t next = steps_per_epoch() * (of_epoch + 1) / plan_.reports_per_epoch;
    return {.epoch = state_->report++ / plan_.reports_per_epoch + 1, .first = first, .steps = next - first};
}

std::optional<double> TrainingLoop::train_stretch(const Stretch& stretch) {
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
         .first_step = stretch.first,
         .workers = plan_.loader_workers},
        attempt_.device()};
    enter_training(*state.model, state.parts);
    double loss = 0;
    for (std::int64_t start = from; start < to; start += plan_.effective_batch, ++state.step) {
        const std::int64_t count = std::min(plan_.effective_batch, to - start);
        torch::manual_seed(seed_.derive("noise").derive(static_cast<std::uint64_t>(state.step)).value);
        const std::optional<double> mean_loss = take_step(loader, count);
        if (!mean_loss) return std::nullopt;
        loss += *mean_loss * static_cast<double>(count);
    }
    return loss / static_cast<double>(to - from);
}

std::optional<double> TrainingLoop::take_step(BatchLoader& loader, std::int64_t examples) {
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

bool TrainingLoop::tell(double training_loss) {
    TrainingState& state = *state_;
    state.metrics = evaluate(task_, *state.model, plan_, attempt_);
    const double value = state.metrics.at(plan_.metric);
    if (plan_.patience > 0) state.best.see({.step = state.report, .value = value, .metrics = state.metrics}, plan_.direction, *state.model);
    attempt_.progress().log(epoch_line(state, plan_, training_loss));
    if (ended()) attempt_.progress().last_step(state.report);
    return attempt_.progress().report(state.report, value);
}

void TrainingLoop::keep_checkpoint() {
    TrainingState& state = *state_;
    if (ended() || !checkpoints_.due()) return;
    attempt_.enter("checkpoint");
    try {
        checkpoints_.write(state);
        attempt_.progress().checkpointed(state.report);
    } catch (const std::exception& error) {  // a failed checkpoint does not end a training
        attempt_.progress().log(std::string{"no checkpoint: "} + error.what());
    }
}

void TrainingLoop::settle() {
    if (!settled_need_ || state_->report < first_report_ + plan_.reports_per_epoch || state_->report >= plan_.last_report()) return;
    attempt_.settle(settled_need_->after_epoch(attempt_.memory()));
    settled_need_.reset();
}

AttemptOutcome TrainingLoop::stopped() const {
    AttemptOutcome outcome;
    outcome.kind = OutcomeKind::stopped;
    outcome.approximate = approximate();
    return outcome;
}

AttemptOutcome TrainingLoop::finished() {
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

void TrainingLoop::keep_model() {
    try {
        save_model(task_, *state_->model, plan_.model_folder, attempt_);
    } catch (const std::exception& error) {
        attempt_.progress().log(std::string{"no saved model: "} + error.what());
        empty_folder(plan_.model_folder);
    }
}

}  // namespace hpo::libtorch
