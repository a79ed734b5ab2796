// SPDX-License-Identifier: MIT
#include "hpo/torch/classification.hpp"

#include <torch/torch.h>
#include <cstdint>
#include <string>
#include <vector>

#include "hpo/core/value.hpp"
#include "hpo/torch/metered_allocator.hpp"

namespace hpo::libtorch {

torch::Tensor ClassificationLoss::sum(const torch::Tensor& logits, const torch::Tensor& labels) const {
    auto options = torch::nn::functional::CrossEntropyFuncOptions{}.reduction(torch::kSum).label_smoothing(label_smoothing);
    if (class_weights.defined()) options = options.weight(class_weights.to(logits.options()));
    return torch::nn::functional::cross_entropy(logits, labels, options);
}

torch::Tensor balanced_weights(const std::vector<std::int64_t>& examples_of_class) {
    const Unmetered outside;
    const torch::Tensor examples = torch::tensor(examples_of_class, torch::kLong).to(torch::kFloat);
    const torch::Tensor weights = examples.sum() / (static_cast<double>(examples_of_class.size()) * examples);
    return weights.masked_fill(examples.eq(0), 0);
}

std::vector<TrainerParameter> classification_parameters(const std::string& examples) {
    return {
        {"train.label_smoothing", "float", "[0, 1)", 0.0, "share of a label spread over all classes", MemoryUse::whether_zero},
        {"train.class_weights", "one of none, balanced", "", std::string{"none"},
         "balanced: an example counts as examples / (classes * examples of its class)"},
        {"report_test", "bool", "", false,
         "measure the test " + examples + " once, after the last epoch, into test_accuracy and test_macro_f1"},
    };
}

std::vector<TrainerMetric> classification_metrics(const std::string& examples) {
    return {
        {"accuracy", Direction::maximize, "share of held-out " + examples + " classified rightly"},
        {"macro_f1", Direction::maximize, "mean over the classes of F1 on held-out " + examples},
        {"loss", Direction::minimize, "mean cross-entropy on held-out " + examples},
    };
}

void keep_test_score(const ClassificationScore& score, Attributes& attributes) {
    attributes.set_number("test_accuracy", score.accuracy());
    attributes.set_number("test_macro_f1", score.macro_f1());
    attributes.set_number("test_examples", score.examples());
}

}  // namespace hpo::libtorch
