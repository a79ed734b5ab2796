// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "hpo/base/inline.hpp"
#include "hpo/core/value.hpp"
#include "hpo/torch/recording/value_reads.hpp"
#include "hpo/torch/task.hpp"
#include "hpo/torch/training/batch_checks.hpp"

namespace hpo::libtorch::inline training {

HPO_INLINE std::string shape_text(const torch::Tensor& tensor) {
    std::ostringstream text;
    text << tensor.sizes();
    return text.str();
}

HPO_INLINE void check_labels(const torch::Tensor& targets, std::int64_t classes) {
    if (targets.dim() != 1 || targets.scalar_type() != torch::kLong) {
        throw BadBatch{"labels of shape " + shape_text(targets) + " and type " + torch::toString(targets.scalar_type()) +
                       "; expected whole numbers, one for each example"};
    }
    if (targets.numel() == 0) throw BadBatch{"a batch without examples"};
    const HarmlessReads of_labels;
    const auto lowest = targets.min().item<std::int64_t>();
    const auto highest = targets.max().item<std::int64_t>();
    if (lowest >= 0 && highest < classes) return;
    throw BadBatch{"label " + std::to_string(lowest < 0 ? lowest : highest) + " in a batch of " + std::to_string(targets.size(0)) +
                   " examples; expected 0 to " + std::to_string(classes - 1)};
}

HPO_INLINE void check_logits(const torch::Tensor& logits, const Batch& batch, std::int64_t classes) {
    if (logits.dim() == 2 && logits.size(0) == batch.examples() && logits.size(1) == classes) return;
    throw BadBatch{"logits of shape " + shape_text(logits) + "; expected [" + std::to_string(batch.examples()) + ", " +
                   std::to_string(classes) + "]"};
}

HPO_INLINE void check_count(const Batch& batch, std::size_t asked) {
    if (batch.examples() == static_cast<std::int64_t>(asked)) return;
    throw BadBatch{"a batch of " + std::to_string(batch.examples()) + " examples where " + std::to_string(asked) +
                   " were asked for; expected each of them once, in order"};
}

HPO_INLINE void check_loss(double loss, const std::string& place) {
    if (!std::isfinite(loss)) throw NonFiniteLoss{"the loss is " + number_text(loss) + " " + place};
}

}  // namespace hpo::libtorch::training
