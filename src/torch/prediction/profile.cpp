// SPDX-License-Identifier: MIT
#include "torch/prediction/profile.hpp"

#include <torch/torch.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "hpo/torch/autocast.hpp"
#include "hpo/torch/training/batch_checks.hpp"
#include "hpo/torch/training/optimizer.hpp"
#include "hpo/torch/training/prepared_model.hpp"
#include "torch/adaptation/model_parts.hpp"

namespace hpo::libtorch {

std::int64_t measure_activations(const Task& task, Model& model, Precision precision, std::int64_t examples, RunningAttempt& attempt) {
    std::vector<std::int64_t> chosen(static_cast<std::size_t>(examples));
    std::iota(chosen.begin(), chosen.end(), std::int64_t{0});
    const auto before = read_memory(attempt.device()).allocated.value_or(0);
    attempt.enter("batch");
    const Batch batch = task.training_batch(chosen, attempt.device());
    check_count(batch, chosen.size());
    attempt.enter("forward");
    Outputs outputs;
    {
        const Autocast autocast{attempt.device(), precision};
        outputs = model.forward(batch);
    }
    const torch::Tensor loss = task.loss_sum(precision == Precision::fp32 ? outputs : outputs.in_fp32(), batch);
    return read_memory(attempt.device()).allocated.value_or(0) - before;
}

Profile measure_profile(Task& task, const TrainingPlan& plan, const Seed seed, RunningAttempt& attempt) {
    const auto [model, parts] = prepare_model(task, plan.tuning, seed, attempt);
    enter_training(*model, parts);
    Profile profile;
    std::vector<torch::Tensor> trainable;
    for (const auto& [name, parameter] : distinct_parameters(*model)) {
        profile.parameters += parameter.numel();
        profile.weight_bytes += static_cast<std::int64_t>(parameter.nbytes());
        if (!parameter.requires_grad()) continue;
        profile.trainable_parameters += parameter.numel();
        profile.gradient_bytes += static_cast<std::int64_t>(parameter.nbytes());
        trainable.push_back(parameter);
    }
    for (const torch::Tensor& buffer : model->buffers()) profile.weight_bytes += static_cast<std::int64_t>(buffer.nbytes());

    const std::int64_t most = std::min<std::int64_t>(4, task.training_examples());
    static_cast<void>(measure_activations(task, *model, plan.precision, most, attempt));  // so that the library's workspaces exist
    const std::int64_t few = std::max<std::int64_t>(1, most / 2);
    const std::int64_t bytes_few = measure_activations(task, *model, plan.precision, few, attempt);
    const std::int64_t bytes_most = measure_activations(task, *model, plan.precision, most, attempt);
    if (most > few) profile.activation_bytes_per_example = std::max<std::int64_t>(0, (bytes_most - bytes_few) / (most - few));
    profile.activation_fixed_bytes = std::max<std::int64_t>(0, bytes_few - few * profile.activation_bytes_per_example);

    attempt.enter("step");
    for (torch::Tensor& parameter : trainable) parameter.mutable_grad() = torch::zeros_like(parameter);
    Optimizer optimizer{plan.optimizer, parameter_groups(*model, parts, plan.optimizer.layer_decay)};
    const auto before = read_memory(attempt.device()).allocated.value_or(0);
    optimizer.step();
    profile.optimizer_bytes = read_memory(attempt.device()).allocated.value_or(0) - before;
    return profile;
}

}  // namespace hpo::libtorch
