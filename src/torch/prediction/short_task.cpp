// SPDX-License-Identifier: MIT
#include "torch/prediction/short_task.hpp"

#include <torch/torch.h>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "hpo/torch/recording/value_reads.hpp"
#include "torch/meta/factories.hpp"

namespace hpo::libtorch {

Outputs SparedModel::forward(const Batch& batch) {
    ++passes_;
    Shape shape;
    for (const torch::Tensor& input : batch.inputs) {
        const std::vector<std::int64_t> sizes = input.sizes().vec();
        shape.insert(shape.end(), sizes.begin(), sizes.end());
    }
    const bool covered = std::any_of(seen_.begin(), seen_.end(), [&](const Shape& before) { return covers(before, shape); });
    if (!covered) {
        seen_.push_back(std::move(shape));
        const EvaluationReads::Scope in_a_model{false};
        const Outputs outputs = whole_.forward(batch);
        shown_.clear();
        for (const torch::Tensor& output : outputs) shown_.push_back({output.sizes().vec(), output.options()});
        if (passes_ == most_passes_) throw Enough{};
        return outputs;
    }
    if (passes_ == most_passes_) throw Enough{};
    std::vector<torch::Tensor> outputs;
    for (Shown output : shown_) {
        if (!output.sizes.empty()) output.sizes.front() = batch.examples();
        outputs.push_back(torch::zeros(output.sizes, output.options));
    }
    return outputs;
}

ShortTask::ShortTask(Task& whole, const TrainingPlan& plan, torch::Device device) : ShortTask{whole, plan, device, 64} {
    const auto [step, micro] = sizes(plan);
    plan_.effective_batch = std::min<std::int64_t>(step / micro, 3) * micro + step % micro;
    plan_.micro_batch = micro;
    const std::int64_t last = whole.training_examples() % step;
    const bool last_is_second = plan.epochs == 1 && whole.training_examples() < 2 * step && whole.stand_in().empty();
    const std::int64_t full = last_is_second ? 1 : full_steps(plan);
    examples_ = full * plan_.effective_batch + std::min<std::int64_t>(last / micro, last_is_second ? 2 : 1) * micro + last % micro;
}

ShortTask ShortTask::scaled(Task& whole, const TrainingPlan& plan, torch::Device device, std::int64_t examples) {
    ShortTask task{whole, plan, device, 1};
    const auto [step, micro] = task.sizes(plan);
    task.plan_.evaluation_batch = (plan.evaluation_batch + micro - 1) / micro * examples;
    task.plan_.micro_batch = examples;
    task.plan_.effective_batch = std::min<std::int64_t>((step + micro - 1) / micro, 3) * examples;
    task.examples_ = task.full_steps(plan) * task.plan_.effective_batch;
    return task;
}

std::shared_ptr<Model> ShortTask::build() {
    std::optional<MetaFactories> on_meta;
    if (device_.is_meta()) on_meta.emplace();
    std::shared_ptr<Model> model = whole_.build();
    if (names_scopes_) scopes_ = std::make_unique<TraceScopes>(model);
    return model;
}

Metrics ShortTask::evaluate(Model& model, const EvaluationPlan& plan) const {
    spare(model, [&](Model& spared) { static_cast<void>(whole_.evaluate(spared, plan)); });
    return {{plan_.metric, 0.0}};
}

void ShortTask::finish(Model& model, const EvaluationPlan& plan, Attributes& attributes) const {
    spare(model, [&](Model& spared) { whole_.finish(spared, plan, attributes); });
}

ShortTask::ShortTask(Task& whole, const TrainingPlan& plan, torch::Device device, int evaluation_passes)
    : whole_{whole}, plan_{plan}, device_{device}, evaluation_passes_{evaluation_passes} {
    plan_.epochs = std::min<std::int64_t>(plan.epochs, 2);
    plan_.reports_per_epoch = plan.epochs > 1 ? 1 : std::min<std::int64_t>(plan.reports_per_epoch, 2);
    moves_batches_ = plan_.loader_workers > 0;
    plan_.loader_workers = 0;
    plan_.checkpoints = {};
    plan_.model_folder.clear();
}

Batch ShortTask::moved(Batch batch, torch::Device device) const {
    if (!moves_batches_) return batch;
    for (torch::Tensor& input : batch.inputs) input = input.to(device);
    if (batch.targets.defined()) batch.targets = batch.targets.to(device);
    return batch;
}

template <class Evaluation>
void ShortTask::spare(Model& model, const Evaluation& evaluation) const {
    SparedModel spared{model, evaluation_passes_};
    const EvaluationReads::Scope in_an_evaluation{true};
    try {
        evaluation(spared);
    } catch (const SparedModel::Enough&) {
    }
}

}  // namespace hpo::libtorch
