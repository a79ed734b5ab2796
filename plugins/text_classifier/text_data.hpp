// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/dataset/text_dataset.hpp"
#include "hpo/text/padding.hpp"
#include "hpo/text/tokenizer.hpp"
#include "hpo/torch/task.hpp"

namespace hpo::text_classifier {

using torch::Tensor;

/// Texts as a model reads them, in host memory. No device's meter counts them. They are numbered by length, the longest first. So the first
/// batch of an evaluation and of a measured profile needs the most memory, and an evaluation pads little.
struct EncodedTexts {
    std::vector<std::vector<hpo::text::TokenId>> ids;
    std::vector<std::int64_t> labels;

    [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(ids.size()); }
    [[nodiscard]] std::size_t length(std::int64_t text) const { return ids[static_cast<std::size_t>(text)].size(); }
};

[[nodiscard]] inline EncodedTexts encode(const hpo::dataset::Examples& examples, const hpo::text::Tokenizer& tokenizer,
                                         std::size_t max_length) {
    std::vector<std::vector<hpo::text::TokenId>> ids;
    for (std::int64_t i = 0; i < examples.size(); ++i) ids.push_back(tokenizer.encode(examples.text(i), max_length));
    std::vector<std::size_t> order(ids.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return ids[a].size() > ids[b].size(); });
    EncodedTexts texts;
    for (const std::size_t at : order) {
        texts.ids.push_back(std::move(ids[at]));
        texts.labels.push_back(examples.label(static_cast<std::int64_t>(at)));
    }
    return texts;
}

/// Ids and mask, [examples, tokens], as wide as the longest of these texts. If no text is padded, there is no mask.
[[nodiscard]] inline hpo::libtorch::Batch text_batch(const EncodedTexts& texts, std::span<const std::int64_t> chosen,
                                                     hpo::text::TokenId pad, torch::Device device) {
    std::vector<std::vector<hpo::text::TokenId>> ids;
    std::vector<std::int64_t> labels;
    for (const std::int64_t text : chosen) {
        ids.push_back(texts.ids[static_cast<std::size_t>(text)]);
        labels.push_back(texts.labels[static_cast<std::size_t>(text)]);
    }
    hpo::text::PaddedIds padded = hpo::text::padded(ids, pad);
    const auto rows = static_cast<std::int64_t>(padded.rows);
    const auto on_device = [&](std::vector<std::int64_t>& numbers, torch::IntArrayRef shape) {
        return torch::from_blob(numbers.data(), shape, torch::kLong).clone().to(device);
    };
    const std::vector<std::int64_t> shape{rows, static_cast<std::int64_t>(padded.columns)};
    hpo::libtorch::Batch batch{{on_device(padded.ids, shape)}, on_device(labels, {rows})};
    const bool full = std::find(padded.mask.begin(), padded.mask.end(), 0) == padded.mask.end();
    if (!full) batch.inputs.push_back(on_device(padded.mask, shape));
    return batch;
}

/// A data set, ready for one kind of model.
struct PreparedTexts {
    hpo::text::Tokenizer tokenizer;
    hpo::dataset::LabelTable labels;
    EncodedTexts train;
    EncodedTexts validation;
    EncodedTexts test;
    std::vector<std::int64_t> class_counts;  ///< number of training texts of each class
    std::vector<std::string> remarks;        ///< what a person should know about the data, one line each
    std::string hash;                        ///< of the training texts and the held-out texts
    std::string stand_in;                    ///< says what stands in for the texts; empty if they are real
};

}  // namespace hpo::text_classifier
