// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hpo/text/word_counts.hpp"
#include "hpo/torch/training_plan.hpp"
#include "text_data.hpp"

namespace text_classifier {

/// So many texts of the full length, the last of them a token shorter: a batch that has padding has a mask.
[[nodiscard]] inline EncodedTexts full_texts(std::int64_t count, std::size_t length) {
    EncodedTexts texts;
    texts.ids.assign(static_cast<std::size_t>(count), std::vector<hpo::text::TokenId>(length));
    texts.labels.assign(static_cast<std::size_t>(count), 0);
    if (length > 2) texts.ids.back().pop_back();
    return texts;
}

/// What stands for data that nobody has yet where only shapes count: two classes of texts of `length` tokens, enough for two whole steps
/// and one whole batch of an evaluation.
[[nodiscard]] inline std::shared_ptr<const PreparedTexts> stand_in_texts(std::size_t length, const hpo::torch::TrainingPlan& plan) {
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

}  // namespace text_classifier
