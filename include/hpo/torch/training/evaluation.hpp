// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "hpo/torch/task.hpp"
#include "hpo/torch/training/batch_checks.hpp"

namespace hpo::libtorch {

/// Scores a classifier: accuracy, macro-averaged F1 and mean cross-entropy over all added examples.
class ClassificationScore {
public:
    explicit ClassificationScore(std::int64_t classes) : classes_{classes}, confusion_(static_cast<std::size_t>(classes * classes)) {}

    /// Logits [examples, classes] and class numbers [examples].
    void add(const torch::Tensor& logits, const torch::Tensor& labels);
    [[nodiscard]] double accuracy() const;
    /// The mean over all classes of 2 TP / (2 TP + FP + FN). A class that is neither a label nor an answer counts 0.
    [[nodiscard]] double macro_f1() const;
    [[nodiscard]] double loss() const { return examples_ == 0 ? 0 : loss_sum_ / static_cast<double>(examples_); }
    [[nodiscard]] std::int64_t examples() const { return examples_; }

private:
    [[nodiscard]] std::int64_t count(std::int64_t label, std::int64_t answer) const {
        return confusion_[static_cast<std::size_t>(label * classes_ + answer)];
    }

    std::int64_t classes_;
    std::vector<std::int64_t> confusion_;  ///< row: label, column: answer
    double loss_sum_ = 0;
    std::int64_t examples_ = 0;
};

/// The part of the data on which a classifier is scored.
struct ScoredPart {
    std::int64_t examples = 0;
    std::int64_t classes = 2;
    std::optional<std::int64_t> vocabulary{};  ///< see BatchRules
};

/// Scores a part of the data. `batch_of(span of example numbers)` makes its batches. Batches and logits are checked.
template <class BatchOf>
[[nodiscard]] ClassificationScore score_classifier(Model& model, const ScoredPart& part, const EvaluationPlan& plan,
                                                   const BatchOf& batch_of) {
    ClassificationScore score{part.classes};
    const BatchRules rules{.classes = part.classes, .vocabulary = part.vocabulary};
    std::vector<std::int64_t> order(static_cast<std::size_t>(part.examples));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    const auto stride = static_cast<std::size_t>(std::max<std::int64_t>(1, plan.batch_examples));
    for (std::size_t start = 0; start < order.size(); start += stride) {
        const auto chosen = std::span{order}.subspan(start, std::min(stride, order.size() - start));
        const Batch batch = batch_of(chosen);
        check_batch(batch, rules, {.number = static_cast<std::int64_t>(start / stride) + 1, .of = "the evaluation", .examples = chosen});
        const torch::Tensor logits = model.forward(batch)[0].to(torch::kFloat);  // autocast leaves a shorter type
        check_logits(logits, batch, part.classes);
        score.add(logits, batch.targets);
    }
    return score;
}

}  // namespace hpo::libtorch
