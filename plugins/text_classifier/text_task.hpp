// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/value.hpp"
#include "hpo/torch/classification.hpp"
#include "hpo/torch/encoder/read_encoder.hpp"
#include "hpo/torch/task.hpp"
#include "hpo/torch/training/evaluation.hpp"
#include "hpo/torch/training/length_buckets.hpp"
#include "saved_text_model.hpp"
#include "text_data.hpp"
#include "text_model.hpp"

namespace hpo::text_classifier {

/// One attempt at classifying texts.
class TextTask final : public hpo::libtorch::Task {
public:
    struct Options {
        hpo::text::EncoderConfig encoder;
        std::filesystem::path model;  ///< the folder with the encoder's weights; if empty, they are drawn at random
        HeadShape head;
        hpo::libtorch::ClassificationLoss loss;
        std::int64_t bucket_steps = 1;  ///< number of steps whose examples are sorted by length together
        bool recompute = false;         ///< activation checkpointing
        bool report_test = false;
    };

    TextTask(std::shared_ptr<const PreparedTexts> texts, Options options) : texts_{std::move(texts)}, options_{std::move(options)} {}

    [[nodiscard]] std::shared_ptr<hpo::libtorch::Model> build() override {
        auto encoder = options_.model.empty() ? hpo::libtorch::draw_encoder(options_.encoder, "model")
                                              : hpo::libtorch::read_encoder(options_.model, options_.encoder);
        encoder->recompute(options_.recompute);
        parts_ = encoder->parts("encoder.");
        parts_.emplace_back("head");
        return std::make_shared<TextModel>(std::move(encoder), options_.head);
    }
    [[nodiscard]] std::int64_t training_examples() const override { return texts_->train.size(); }
    [[nodiscard]] hpo::libtorch::Batch training_batch(std::span<const std::int64_t> examples, torch::Device device) const override {
        return batch_of(texts_->train, examples, device);
    }
    [[nodiscard]] std::int64_t held_out_examples() const override { return texts_->validation.size(); }
    [[nodiscard]] hpo::libtorch::Batch held_out_batch(std::span<const std::int64_t> examples, torch::Device device) const override {
        return batch_of(texts_->validation, examples, device);
    }
    void arrange(std::vector<std::int64_t>& order, const hpo::libtorch::EpochOrder& epoch) const override {
        hpo::libtorch::bucket_by_length(order, epoch, options_.bucket_steps,
                                        [this](std::int64_t text) { return texts_->train.length(text); });
    }
    /// The longest texts and, if there is one, a shorter text, since a batch with padding has a mask.
    [[nodiscard]] std::vector<std::int64_t> heaviest_batch(std::int64_t examples) const override {
        std::vector<std::int64_t> chosen = Task::heaviest_batch(examples);
        const std::int64_t shortest = texts_->train.size() - 1;
        if (examples > 1 && texts_->train.length(shortest) < texts_->train.length(0)) chosen.back() = shortest;
        return chosen;
    }
    /// If all texts have the same length, no text is padded.
    [[nodiscard]] bool batches_alike() const override { return texts_->train.length(texts_->train.size() - 1) == texts_->train.length(0); }
    [[nodiscard]] Tensor loss_sum(const hpo::libtorch::Outputs& outputs, const hpo::libtorch::Batch& batch) const override {
        return options_.loss.sum(outputs, batch.targets);
    }
    [[nodiscard]] hpo::libtorch::Metrics evaluate(hpo::libtorch::Model& model, const hpo::libtorch::EvaluationPlan& plan) const override {
        return hpo::libtorch::metrics_of(score(model, texts_->validation, plan));
    }
    [[nodiscard]] std::optional<std::int64_t> classes() const override { return texts_->labels.size(); }
    [[nodiscard]] hpo::libtorch::BatchRules batch_rules() const override {
        hpo::libtorch::BatchRules rules = Task::batch_rules();
        rules.vocabulary = options_.encoder.vocabulary;
        return rules;
    }
    [[nodiscard]] std::vector<std::string> layers() const override { return parts_; }
    [[nodiscard]] std::vector<std::string> remarks() const override { return texts_->remarks; }
    [[nodiscard]] std::string stand_in() const override { return texts_->stand_in; }
    void save(const std::filesystem::path& folder) const override {
        write_text_model(*texts_, options_.encoder, {.from = options_.model, .to = folder});
    }
    void finish(hpo::libtorch::Model& model, const hpo::libtorch::EvaluationPlan& plan, hpo::Attributes& attributes) const override {
        attributes.set_text("data_hash", texts_->hash);
        attributes.set_number("validation_examples", texts_->validation.size());
        if (options_.report_test) hpo::libtorch::keep_test_score(score(model, texts_->test, plan), attributes);
    }

private:
    [[nodiscard]] hpo::libtorch::Batch batch_of(const EncodedTexts& part, std::span<const std::int64_t> examples,
                                                torch::Device device) const {
        return text_batch(part, examples, texts_->tokenizer.special().pad, device);
    }
    [[nodiscard]] hpo::libtorch::ClassificationScore score(hpo::libtorch::Model& model, const EncodedTexts& part,
                                                           const hpo::libtorch::EvaluationPlan& plan) const {
        return hpo::libtorch::score_classifier(
            model, {.examples = part.size(), .classes = texts_->labels.size(), .vocabulary = options_.encoder.vocabulary}, plan,
            [&](auto examples) { return batch_of(part, examples, plan.device); });
    }

    std::shared_ptr<const PreparedTexts> texts_;
    Options options_;
    std::vector<std::string> parts_;  ///< of the model that was built last
};

}  // namespace hpo::text_classifier
