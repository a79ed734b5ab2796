// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hpo/text/word_counts.hpp"
#include "hpo/torch/training/plan.hpp"
#include "text_data.hpp"

namespace hpo::text_classifier {

/// `count` texts of the full length. The last is one token shorter, so that the batch has padding and a mask.
[[nodiscard]] inline EncodedTexts full_texts(std::int64_t count, std::size_t length) {
    EncodedTexts texts;
    texts.ids.assign(static_cast<std::size_t>(count), std::vector<hpo::text::TokenId>(length));
    texts.labels.assign(static_cast<std::size_t>(count), 0);
    if (length > 2) texts.ids.back().pop_back();
    return texts;
}

/// Stands in for missing data if only shapes count: two classes of texts of `length` tokens. They are enough for two full steps and one
/// full batch of an evaluation.
[[nodiscard]] inline std::shared_ptr<const PreparedTexts> stand_in_texts(std::size_t length, const hpo::libtorch::TrainingPlan& plan) {
    constexpr std::size_t special_tokens = 8;
    PreparedTexts texts{.tokenizer = hpo::text::WordCounts{}.tokenizer(special_tokens),
                        .labels = {{"one", "other"}, "stand-in texts"},
                        .train = full_texts(2 * plan.effective_batch, length),
                        .validation = full_texts(plan.evaluation_batch, length),
                        .test = full_texts(plan.evaluation_batch, length),
                        .class_counts = {1, 1},
                        .stand_in = "every text is taken to have tok.max_length tokens and one of two labels"};
    return std::make_shared<const PreparedTexts>(std::move(texts));
}

}  // namespace hpo::text_classifier
