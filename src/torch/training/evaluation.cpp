// SPDX-License-Identifier: MIT
#include "hpo/torch/training/evaluation.hpp"

#include <torch/torch.h>
#include <cstddef>
#include <cstdint>

#include "hpo/torch/recording/value_reads.hpp"

namespace hpo::libtorch {

void ClassificationScore::add(const torch::Tensor& logits, const torch::Tensor& labels) {
    const HarmlessReads of_answers;
    loss_sum_ +=
        torch::nn::functional::cross_entropy(logits, labels, torch::nn::functional::CrossEntropyFuncOptions{}.reduction(torch::kSum))
            .item<double>();
    const torch::Tensor cells = (labels * classes_ + logits.argmax(1)).to(torch::kCPU);
    const auto* const cell = cells.data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < cells.numel(); ++i) ++confusion_[static_cast<std::size_t>(cell[i])];
    examples_ += cells.numel();
}

double ClassificationScore::accuracy() const {
    std::int64_t right = 0;
    for (std::int64_t c = 0; c < classes_; ++c) right += count(c, c);
    return examples_ == 0 ? 0 : static_cast<double>(right) / static_cast<double>(examples_);
}

double ClassificationScore::macro_f1() const {
    double sum = 0;
    for (std::int64_t c = 0; c < classes_; ++c) {
        std::int64_t labelled = 0;
        std::int64_t answered = 0;
        for (std::int64_t other = 0; other < classes_; ++other) {
            labelled += count(c, other);
            answered += count(other, c);
        }
        if (labelled + answered > 0) sum += 2.0 * static_cast<double>(count(c, c)) / static_cast<double>(labelled + answered);
    }
    return sum / static_cast<double>(classes_);
}

}  // namespace hpo::libtorch
