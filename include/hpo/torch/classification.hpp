// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <vector>

#include "hpo/core/attributes.hpp"
#include "hpo/torch/evaluation.hpp"
#include "hpo/torch/task.hpp"
#include "hpo/trainer/settings.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo::torch {

/// Cross-entropy as classifiers train with it.
struct ClassificationLoss {
    double label_smoothing = 0;     ///< share of a label that is spread over all classes
    ::torch::Tensor class_weights;  ///< [classes]; undefined: all weigh 1

    /// The losses of the batch's examples added up. A step's loss is their mean over examples: class weights are not divided by their sum,
    /// so that micro-batches add up to the step whatever classes they hold.
    [[nodiscard]] ::torch::Tensor sum(const ::torch::Tensor& logits, const ::torch::Tensor& labels) const;
};

/// For each class examples / (classes * its examples), outside the meter; a class without examples weighs nothing.
[[nodiscard]] ::torch::Tensor balanced_weights(const std::vector<std::int64_t>& examples_of_class);

/// The parameters of a classifier's loss and of its test, for the list that it describes; `examples` is a word for them, such as "images".
[[nodiscard]] std::vector<TrainerParameter> classification_parameters(const std::string& examples);

/// The loss that settings ask for. `examples_of_class()` gives the training examples of each class; called where the weights need them.
template <class Counts>
[[nodiscard]] ClassificationLoss classification_loss(const Settings& settings, const Counts& examples_of_class) {
    ClassificationLoss loss{.label_smoothing = settings.number("train.label_smoothing"), .class_weights = {}};
    if (settings.text("train.class_weights") == "balanced") loss.class_weights = balanced_weights(examples_of_class());
    return loss;
}

/// What a classifier's evaluation tells; `examples` is a word for them, such as "images".
[[nodiscard]] std::vector<TrainerMetric> classification_metrics(const std::string& examples);

[[nodiscard]] inline Metrics metrics_of(const ClassificationScore& score) {
    return {{"accuracy", score.accuracy()}, {"macro_f1", score.macro_f1()}, {"loss", score.loss()}};
}

/// Adds test_accuracy, test_macro_f1 and test_examples to what a trial keeps.
void keep_test_score(const ClassificationScore& score, Attributes& attributes);

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/classification_inl.hpp"
#endif
