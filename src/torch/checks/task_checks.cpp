// SPDX-License-Identifier: MIT
#include "torch/checks/task_checks.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <numeric>
#include <span>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "hpo/core/value.hpp"
#include "hpo/torch/autocast.hpp"
#include "hpo/torch/failure_translation.hpp"
#include "hpo/torch/metered_allocator.hpp"
#include "hpo/torch/training/batch_checks.hpp"
#include "hpo/torch/training/batch_loader.hpp"
#include "hpo/torch/training/loss_scale.hpp"
#include "hpo/torch/training/optimizer.hpp"
#include "hpo/torch/training/step.hpp"
#include "torch/adaptation/model_parts.hpp"
#include "torch/checks/augmentation_problem.hpp"
#include "torch/checks/few_passes.hpp"
#include "torch/checks/mixed_examples.hpp"
#include "torch/prediction/virtual_card.hpp"
#include "torch/recording/other_threads.hpp"

namespace hpo::libtorch {

std::vector<TrainerProblem> TaskChecks::find(const std::vector<TrainerMetric>& metrics) {
    try {
        enter_training(model_, prepared_.parts);
        check_training();
        if (problems_.empty()) check_evaluation(metrics);  // after another problem it would fail for the same reason
        if (problems_.empty() && !task_.has_own_step() && !task_.mixes_examples()) check_mixing();
    } catch (...) {
        const FailureKind kind = translate_failure(std::current_exception(), attempt_.phase(), {}).kind;
        if (kind != FailureKind::out_of_memory && kind != FailureKind::host_out_of_memory) throw;
    }
    return std::move(problems_);
}

std::vector<std::int64_t> TaskChecks::first_examples(std::int64_t count) {
    std::vector<std::int64_t> examples(static_cast<std::size_t>(count));
    std::iota(examples.begin(), examples.end(), std::int64_t{0});
    return examples;
}

void TaskChecks::check_training() {
    const std::vector<std::int64_t> chosen = first_examples(std::min<std::int64_t>(2, task_.training_examples()));
    attempt_.enter("batch");
    const Batch batch = task_.training_batch(chosen, attempt_.device());
    if (!counts_examples("training_batch", batch, chosen.size()) || !check_augmentation(chosen)) return;
    if (task_.has_own_step()) return check_step(3);
    attempt_.enter("forward");
    Outputs outputs;
    {
        const Autocast autocast{attempt_.device(), plan_.precision};
        const OtherThreads others;
        outputs = model_.forward(batch);
        if (others.ran_operators()) {
            attempt_.progress().log(
                "another thread computed while forward ran; if that is forward's own, the training's precision and its mode without "
                "gradients "
                "do not hold there: expected the calling thread");
        }
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const std::string name = outputs.size() == 1 ? "outputs" : "output " + std::to_string(i);
        if (!counts_examples("forward", name, outputs[i], chosen.size())) return;
    }
    if (plan_.precision != Precision::fp32) outputs = outputs.in_fp32();
    const torch::Tensor loss = task_.loss_sum(outputs, batch);
    if (!loss.defined() || loss.numel() != 1) {
        add("loss_sum", "its loss " + (loss.defined() ? "has shape " + shape_text(loss) : std::string{"is not defined"}) +
                            "; expected one number, the sum over the batch's examples");
        return;
    }
    if (!loss.is_floating_point()) {
        add("loss_sum", std::string{"its loss is of type "} + torch::toString(loss.scalar_type()) +
                            ", which has no gradient; expected a number with a fraction");
        return;
    }
    check_sum(outputs.each([](const torch::Tensor& each) { return each.detach(); }), batch, loss.item<double>());
    check_gradients(loss);
    outputs = {};
    model_.zero_grad();
    if (problems_.empty() && learns(model_)) check_step(2);
}

bool TaskChecks::check_augmentation(std::span<const std::int64_t> chosen) {
    const Batch batch = task_.augmented_batch(chosen, attempt_.device(), Epoch{.number = 1, .seed = Seed{1}});
    if (!counts_examples("augmented_batch", batch, chosen.size())) return false;
    if (std::string problem = AugmentationProblem{task_, attempt_.device()}.find(chosen); !problem.empty()) {
        add("augmented_batch", std::move(problem));
        return false;
    }
    const Unmetered outside;
    const auto whole = first_examples(std::min(plan_.micro_batch, task_.training_examples()));
    return counts_examples("augmented_batch", task_.augmented_batch(whole, torch::kCPU, Epoch{.number = 1, .seed = Seed{1}}), whole.size());
}

bool TaskChecks::counts_examples(const std::string& where, const Batch& batch, std::size_t examples) {
    if (!counts_examples(where, "targets", batch.targets, examples)) return false;
    for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
        if (!counts_examples(where, "input " + std::to_string(i), batch.inputs[i], examples)) return false;
    }
    return true;
}

bool TaskChecks::counts_examples(const std::string& where, const std::string& name, const torch::Tensor& tensor, std::size_t examples) {
    if (tensor.defined() && tensor.dim() > 0 && tensor.size(0) == static_cast<std::int64_t>(examples)) return true;
    add(where, name + (tensor.defined() ? " of shape " + shape_text(tensor) : " that are not defined") + " for " +
                   std::to_string(examples) + " examples; expected a first dimension that counts the examples");
    return false;
}

void TaskChecks::check_sum(const Outputs& outputs, const Batch& batch, double together) {
    const torch::NoGradGuard no_gradients;
    double sum = 0;
    double size = 0;
    for (std::int64_t i = 0; i < batch.examples(); ++i) {
        Batch one{{}, batch.targets.slice(0, i, i + 1)};
        for (const torch::Tensor& input : batch.inputs) one.inputs.push_back(input.slice(0, i, i + 1));
        const double loss =
            task_.loss_sum(outputs.each([&](const torch::Tensor& each) { return each.slice(0, i, i + 1); }), one).item<double>();
        sum += loss;
        size += std::fabs(loss);
    }
    const auto alike = [&](double a, double b) { return std::fabs(a - b) <= 1e-3 * std::max(size, std::fabs(together)) + 1e-12; };
    if (!std::isfinite(together) || !std::isfinite(sum) || alike(together, sum)) return;
    const std::string figures = ": " + display_text(together) + " for " + std::to_string(batch.examples()) + " examples together, " +
                                display_text(sum) + " for the same ones one by one";
    if (const auto wider = outputs.size() == 1 ? broadcast_shape(outputs, batch.targets) : std::string{}; !wider.empty()) {
        add("loss_sum", "outputs of shape " + shape_text(outputs) + " are held against targets of shape " + shape_text(batch.targets) +
                            ", which LibTorch widens to " + wider + figures + "; expected outputs and targets of one shape");
    } else if (alike(together * static_cast<double>(batch.examples()), sum)) {
        add("loss_sum", "it is a mean over the batch" + figures + "; expected the sum over the batch's examples");
    } else {
        add("loss_sum", "it does not add up" + figures + "; expected the sum over the batch's examples");
    }
}

std::string TaskChecks::broadcast_shape(const torch::Tensor& outputs, const torch::Tensor& targets) {
    if (outputs.sizes() == targets.sizes()) return {};
    const std::int64_t dimensions = std::max(outputs.dim(), targets.dim());
    std::string text;
    std::int64_t numbers = 1;
    for (std::int64_t i = -dimensions; i < 0; ++i) {
        const std::int64_t a = -i <= outputs.dim() ? outputs.size(i) : 1;
        const std::int64_t b = -i <= targets.dim() ? targets.size(i) : 1;
        if (a != b && a != 1 && b != 1) return {};
        numbers *= std::max(a, b);
        text += (text.empty() ? "[" : ", ") + std::to_string(std::max(a, b));
    }
    return numbers > std::max(outputs.numel(), targets.numel()) ? text + "]" : std::string{};
}

void TaskChecks::check_gradients(const torch::Tensor& loss) {
    if (!learns(model_)) return;
    const std::string expected = "; expected a loss that is computed from the model's outputs";
    if (!loss.requires_grad()) {
        add("loss_sum", "its loss has no gradient, so nothing would learn: something detaches it" + expected);
        return;
    }
    attempt_.enter("backward");
    loss.backward();
    const auto parameters = model_.parameters();
    const bool any = std::any_of(parameters.begin(), parameters.end(), [](const torch::Tensor& each) { return each.grad().defined(); });
    if (!any) add("loss_sum", "no parameter of the model gets a gradient from its loss, so nothing would learn" + expected);
    else if (plan_.precision != Precision::fp16) judge_gradients();
}

void TaskChecks::check_evaluation(const std::vector<TrainerMetric>& metrics) {
    attempt_.enter("evaluation");
    constexpr std::int64_t most_examples = 32;
    const torch::NoGradGuard no_gradients;
    const Autocast autocast{attempt_.device(), plan_.precision};
    model_.eval();
    FewPasses model{model_};
    model.eval();
    const EvaluationPlan plan{attempt_.device(), std::min(plan_.evaluation_batch, most_examples)};
    const auto check_size = [&] {
        if (model.most_examples() > plan.batch_examples)
            add("evaluate", "it passes " + std::to_string(model.most_examples()) +
                                " examples through the model at once, so the memory of an evaluation has no bound; expected at most "
                                "plan.batch_examples, here " +
                                std::to_string(plan.batch_examples));
    };
    Metrics told;
    try {
        told = task_.evaluate(model, plan);
    } catch (const FewPasses::Enough&) {
        return check_size();  // the training will show the rest
    } catch (const std::bad_cast&) {
        add("evaluate",
            "it casts the model to another type; expected nothing of the model but forward: checks and predictions pass a "
            "stand-in for it");
        return;
    }
    check_size();
    if (model.is_training()) add("evaluate", "it leaves the model in training mode; expected evaluation mode");
    std::vector<std::string> names;
    for (const auto& [name, value] : told) names.push_back(name);
    for (const TrainerMetric& metric : metrics) {
        if (!told.contains(metric.name))
            add("evaluate", "it does not tell the metric '" + metric.name + "', which describe() names; it tells: " + join_names(names));
    }
}

void TaskChecks::check_mixing() {
    constexpr double least = 1e-3;  // far above rounding errors
    const auto few = first_examples(std::min<std::int64_t>(4, task_.training_examples()));
    enter_training(model_, prepared_.parts);
    attempt_.enter("batch");
    const Batch batch = task_.training_batch(few, attempt_.device());
    if (!counts_examples("training_batch", batch, few.size())) return;
    attempt_.enter("forward");
    MixedExamples mixed{model_};
    if (!mixed.has_batch_norm(batch) && !(mixed.share(batch).value_or(0) > least)) return;
    add("mixes_examples",
        "an example's outputs in training change with the other examples of its micro-batch, as those of batch norm "
        "do, and the task does not say so; expected mixes_examples() to return true");
}

bool TaskChecks::computes() const { return !attempt_.device().is_cuda() || !is_on_virtual_card(); }

void TaskChecks::judge_gradients() {
    if (!computes()) return;
    std::string wild;   // the first parameter whose gradient is not finite
    std::string alone;  // the first that got none
    std::int64_t without = 0;
    std::int64_t learning = 0;
    bool all_zero = true;
    for (const auto& parameter : model_.named_parameters()) {
        if (!parameter.value().requires_grad()) continue;
        ++learning;
        const torch::Tensor& gradient = parameter.value().grad();
        if (!gradient.defined()) {
            if (++without == 1) alone = parameter.key();
            continue;
        }
        const auto largest = gradient.detach().abs().max().to(torch::kDouble).item<double>();
        if (!std::isfinite(largest) && wild.empty()) wild = parameter.key();
        all_zero = all_zero && largest == 0;
    }
    if (!wild.empty()) {
        return add("backward",
                   "the gradient of parameter '" + wild + "' is not finite for two examples and an untrained model; expected finite ones");
    }
    if (all_zero) {
        return add("backward", "the gradients of all " + std::to_string(learning) +
                                   " parameters that learn are 0 for two examples and an untrained model; expected some that are not");
    }
    if (!tells_) return;
    attempt_.progress().log(
        "looked at the gradients of " + std::to_string(learning) + " parameters for two examples: they are finite" +
        (without == 0 ? ", and not all 0" : "; " + std::to_string(without) + " of them got none, the first is '" + alone + "'"));
}

std::vector<torch::Tensor> TaskChecks::some_weights() const {
    constexpr std::int64_t most = 4096;
    std::vector<torch::Tensor> weights;
    const Unmetered outside;
    for (const torch::Tensor& parameter : model_.parameters()) {
        if (parameter.requires_grad())
            weights.push_back(parameter.detach().flatten().slice(0, 0, most).to(torch::kCPU, /*non_blocking=*/false, /*copy=*/true));
    }
    return weights;
}

void TaskChecks::check_step(std::int64_t examples) {
    examples = std::min(examples, task_.training_examples());
    const std::vector<torch::Tensor> before = some_weights();
    BatchLoader loader{task_, {.order = first_examples(examples), .effective_batch = examples, .micro_batch = 2}, attempt_.device()};
    Optimizer optimizer{plan_.optimizer, parameter_groups(model_, prepared_.parts, plan_.optimizer.layer_decay)};
    LossScale loss_scale{plan_.precision};
    TrainingStep step{{.task = task_,
                       .model = model_,
                       .loader = loader,
                       .optimizer = optimizer,
                       .loss_scale = loss_scale,
                       .attempt = attempt_,
                       .examples = examples,
                       .precision = plan_.precision,
                       .learning_rate = plan_.optimizer.learning_rate,
                       .clip_norm = plan_.clip_norm}};
    attempt_.enter("forward");
    try {
        if (task_.has_own_step()) step.end_own(task_.training_step(step));
        else static_cast<void>(plain_step(task_, step));
    } catch (const TrainingStep::Stopped&) {  // the check was asked to stop
        return;
    } catch (const Error& error) {
        return add("training_step", error.what());
    }
    if (!computes()) return;
    const std::vector<torch::Tensor> after = some_weights();
    bool changed = false;
    bool finite = true;
    for (std::size_t i = 0; i < before.size(); ++i) {
        changed = changed || !before[i].equal(after[i]);
        finite = finite && torch::isfinite(after[i]).all().item<bool>();
    }
    constexpr double least_rate = 1e-7;  // below it, a step may be lost in rounding
    if (!finite) {
        attempt_.progress().log("after one training step of a proposal, weights were not finite: its learning rate may be too high");
    } else if (changed) {
        if (tells_) attempt_.progress().log("looked at one training step: it changes the weights");
    } else if (plan_.precision == Precision::fp16 || plan_.optimizer.learning_rate < least_rate) {
        // fp16 leaves out steps until its loss scale fits
        attempt_.progress().log("one training step of a proposal changed no weight, in fp16 or at a learning rate below 1e-07");
    } else {
        add("training step", "it changes none of the " + std::to_string(before.size()) + " parameters that learn, at a learning rate of " +
                                 number_text(plan_.optimizer.learning_rate) + "; expected other weights after a step");
    }
}

}  // namespace hpo::libtorch
