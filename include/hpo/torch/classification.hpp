// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <vector>

#include "hpo/core/attributes.hpp"
#include "hpo/core/value.hpp"
#include "hpo/torch/evaluation.hpp"
#include "hpo/torch/metered_allocator.hpp"
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
    [[nodiscard]] ::torch::Tensor sum(const ::torch::Tensor& logits, const ::torch::Tensor& labels) const {
        auto options = ::torch::nn::functional::CrossEntropyFuncOptions{}.reduction(::torch::kSum).label_smoothing(label_smoothing);
        if (class_weights.defined()) options = options.weight(class_weights.to(logits.options()));
        return ::torch::nn::functional::cross_entropy(logits, labels, options);
    }
};

/// For each class examples / (classes * its examples), outside the meter; a class without examples weighs nothing.
[[nodiscard]] inline ::torch::Tensor balanced_weights(const std::vector<std::int64_t>& examples_of_class) {
    const Unmetered outside;
    const ::torch::Tensor examples = ::torch::tensor(examples_of_class, ::torch::kLong).to(::torch::kFloat);
    const ::torch::Tensor weights = examples.sum() / (static_cast<double>(examples_of_class.size()) * examples);
    return weights.masked_fill(examples.eq(0), 0);
}

/// The parameters of a classifier's loss and of its test, for the list that it describes; `examples` is a word for them, such as "images".
[[nodiscard]] inline std::vector<TrainerParameter> classification_parameters(const std::string& examples) {
    return {
        {"train.label_smoothing", "float", "[0, 1)", 0.0, "share of a label spread over all classes", MemoryUse::whether_zero},
        {"train.class_weights", "one of none, balanced", "", std::string{"none"},
         "balanced: an example counts as examples / (classes * examples of its class)"},
        {"report_test", "bool", "", false,
         "measure the test " + examples + " once, after the last epoch, into test_accuracy and test_macro_f1"},
    };
}

/// The loss that settings ask for. `examples_of_class()` gives the training examples of each class; called where the weights need them.
template <class Counts>
[[nodiscard]] ClassificationLoss classification_loss(const Settings& settings, const Counts& examples_of_class) {
    ClassificationLoss loss{.label_smoothing = settings.number("train.label_smoothing"), .class_weights = {}};
    if (settings.text("train.class_weights") == "balanced") loss.class_weights = balanced_weights(examples_of_class());
    return loss;
}

/// What a classifier's evaluation tells; `examples` is a word for them, such as "images".
[[nodiscard]] inline std::vector<TrainerMetric> classification_metrics(const std::string& examples) {
    return {
        {"accuracy", Direction::maximize, "share of held-out " + examples + " classified rightly"},
        {"macro_f1", Direction::maximize, "mean over the classes of F1 on held-out " + examples},
        {"loss", Direction::minimize, "mean cross-entropy on held-out " + examples},
    };
}

[[nodiscard]] inline Metrics metrics_of(const ClassificationScore& score) {
    return {{"accuracy", score.accuracy()}, {"macro_f1", score.macro_f1()}, {"loss", score.loss()}};
}

/// Adds test_accuracy, test_macro_f1 and test_examples to what a trial keeps.
inline void keep_test_score(const ClassificationScore& score, Attributes& attributes) {
    attributes.set_number("test_accuracy", score.accuracy());
    attributes.set_number("test_macro_f1", score.macro_f1());
    attributes.set_number("test_examples", score.examples());
}

}  // namespace hpo::torch
