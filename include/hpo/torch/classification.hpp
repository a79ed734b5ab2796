// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <vector>

#include "hpo/core/attributes.hpp"
#include "hpo/torch/task.hpp"
#include "hpo/torch/training/evaluation.hpp"
#include "hpo/trainer/settings.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo::libtorch {

/// The cross-entropy that classifiers train with.
struct ClassificationLoss {
    double label_smoothing = 0;   ///< the share of a label that is spread over all classes
    torch::Tensor class_weights;  ///< [classes]; if undefined, each class weighs 1

    /// The sum of the losses of the batch's examples. A step's loss is their mean over the examples. Class weights are not divided by their
    /// sum, so micro-batches add up to the step whatever classes they hold.
    [[nodiscard]] torch::Tensor sum(const torch::Tensor& logits, const torch::Tensor& labels) const;
};

/// The weight of each class: examples / (classes * examples of the class). A class without examples weighs 0. Made outside the meter.
[[nodiscard]] torch::Tensor balanced_weights(const std::vector<std::int64_t>& examples_of_class);

/// The parameters of a classifier's loss and of its test, for the trainer's description. `examples` names the examples, such as "images".
[[nodiscard]] std::vector<TrainerParameter> classification_parameters(const std::string& examples);

/// The loss that the settings ask for. `examples_of_class()` returns the training examples of each class. It is called only if the weights
/// need it.
template <class Counts>
[[nodiscard]] ClassificationLoss classification_loss(const Settings& settings, const Counts& examples_of_class) {
    ClassificationLoss loss{.label_smoothing = settings.number("train.label_smoothing"), .class_weights = {}};
    if (settings.text("train.class_weights") == "balanced") loss.class_weights = balanced_weights(examples_of_class());
    return loss;
}

/// The metrics of a classifier's evaluation. `examples` names the examples, such as "images".
[[nodiscard]] std::vector<TrainerMetric> classification_metrics(const std::string& examples);

[[nodiscard]] inline Metrics metrics_of(const ClassificationScore& score) {
    return {{"accuracy", score.accuracy()}, {"macro_f1", score.macro_f1()}, {"loss", score.loss()}};
}

/// Adds test_accuracy, test_macro_f1 and test_examples to the trial's attributes.
void keep_test_score(const ClassificationScore& score, Attributes& attributes);

}  // namespace hpo::libtorch
