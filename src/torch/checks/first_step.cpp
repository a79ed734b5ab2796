// SPDX-License-Identifier: MIT

#include <torch/torch.h>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hpo/core/value.hpp"
#include "hpo/torch/checks/task_checks.hpp"
#include "hpo/torch/metered_allocator.hpp"
#include "hpo/torch/prediction/virtual_card.hpp"
#include "hpo/torch/training/batch_loader.hpp"
#include "hpo/torch/training/loss_scale.hpp"
#include "hpo/torch/training/optimizer.hpp"
#include "hpo/torch/training/step.hpp"

namespace hpo::libtorch::inline checks {

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

}  // namespace hpo::libtorch::checks
