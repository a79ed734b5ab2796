// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augmentation.hpp"
#include "hpo/core/value.hpp"
#include "hpo/torch/classification.hpp"
#include "hpo/torch/load_weights.hpp"
#include "hpo/torch/task.hpp"
#include "hpo/torch/training/evaluation.hpp"
#include "hpo/weights/weights.hpp"
#include "image_data.hpp"
#include "image_scale.hpp"
#include "models.hpp"

namespace hpo::image_classifier {

/// A folder's training images, their split, and the scale of the training pixels.
struct PreparedImages {
    std::shared_ptr<const ImageSet> set;
    Split split;
    PixelScale scale;
    std::string hash;  ///< of the split
};

/// Scales pixels so that the training pixels have mean 0 and deviation 1.
class Scaling {
public:
    explicit Scaling(const PixelScale& scale)
        : factor_{static_cast<float>(1 / (255 * scale.deviation))}, offset_{static_cast<float>(scale.mean / scale.deviation)} {}
    [[nodiscard]] float operator()(std::uint8_t value) const { return static_cast<float>(value) * factor_ - offset_; }

private:
    float factor_;
    float offset_;
};

/// Images [examples, 1, height, width], scaled to mean 0 and deviation 1 over the training pixels, with their labels.
[[nodiscard]] inline hpo::libtorch::Batch image_batch(const ImageSet& set, const PixelScale& scale, std::span<const std::int64_t> indices,
                                                      torch::Device device) {
    const auto count = static_cast<std::int64_t>(indices.size());
    Tensor images = torch::empty({count, 1, set.height, set.width});
    Tensor labels = torch::empty({count}, torch::kLong);
    auto* pixel = images.data_ptr<float>();
    auto* label = labels.data_ptr<std::int64_t>();
    const Scaling scaled{scale};
    for (const std::int64_t index : indices) {
        for (const std::uint8_t value : set.image(index)) *pixel++ = scaled(value);
        *label++ = set.labels[static_cast<std::size_t>(index)];
    }
    return {{images.to(device)}, labels.to(device)};
}

/// The weights that a model starts from: a safetensors file or a folder with one, for example a saved model. If the path is empty, the
/// weights are drawn at random.
struct StartingWeights {
    std::filesystem::path place;
    bool new_head = false;  ///< the last layer starts from random weights, for other classes
};

/// Throws Error with file and tensor if the weights belong to another model.
inline void begin_from(SegmentedModel& model, const StartingWeights& start) {
    if (start.place.empty()) return;
    const auto weights = hpo::weights::Weights::open(start.place);
    hpo::libtorch::load_whole(model, weights, start.new_head ? "head" : "");
}

/// One attempt at classifying images.
class ImageTask final : public hpo::libtorch::Task {
public:
    struct Options {
        std::string kind;
        ModelShape shape;
        hpo::libtorch::ClassificationLoss loss;
        StartingWeights weights;
        PixelScale scale;
        Augmentation augmentation;
        std::function<ImageSet()> test_images;  ///< reads the test images, which had no part in any choice; if empty, no test
    };

    ImageTask(std::shared_ptr<const PreparedImages> images, Options options) : images_{std::move(images)}, options_{std::move(options)} {}

    [[nodiscard]] std::shared_ptr<hpo::libtorch::Model> build() override {
        auto model = make_model(options_.kind, options_.shape);
        parts_ = model->parts();
        begin_from(*model, options_.weights);
        return model;
    }
    [[nodiscard]] std::vector<std::string> layers() const override { return parts_; }
    [[nodiscard]] std::int64_t training_examples() const override { return static_cast<std::int64_t>(images_->split.train.size()); }
    [[nodiscard]] hpo::libtorch::Batch training_batch(std::span<const std::int64_t> examples, torch::Device device) const override {
        return batch_of(images_->split.train, examples, device);
    }
    [[nodiscard]] std::int64_t held_out_examples() const override { return static_cast<std::int64_t>(images_->split.validation.size()); }
    [[nodiscard]] hpo::libtorch::Batch held_out_batch(std::span<const std::int64_t> examples, torch::Device device) const override {
        return batch_of(images_->split.validation, examples, device);
    }
    [[nodiscard]] hpo::libtorch::Batch augmented_batch(std::span<const std::int64_t> examples, torch::Device device,
                                                       const hpo::libtorch::Epoch& epoch) const override {
        if (!options_.augmentation.changes_images()) return training_batch(examples, device);
        hpo::libtorch::Batch batch = training_batch(examples, torch::kCPU);
        const auto size = static_cast<std::size_t>(images_->set->height * images_->set->width);
        auto* pixels = batch.inputs[0].data_ptr<float>();
        const float background = Scaling{options_.scale}(0);
        for (const std::int64_t example : examples) {
            augment({pixels, size}, images_->set->width, background, options_.augmentation, epoch.rng_of(example));
            pixels += size;
        }
        return {{batch.inputs[0].to(device)}, batch.targets.to(device)};
    }
    [[nodiscard]] Tensor loss_sum(const hpo::libtorch::Outputs& outputs, const hpo::libtorch::Batch& batch) const override {
        return options_.loss.sum(outputs, batch.targets);
    }
    [[nodiscard]] hpo::libtorch::Metrics evaluate(hpo::libtorch::Model& model, const hpo::libtorch::EvaluationPlan& plan) const override {
        const auto score = hpo::libtorch::score_classifier(model, {.examples = held_out_examples(), .classes = options_.shape.classes},
                                                           plan, [&](auto examples) { return held_out_batch(examples, plan.device); });
        return hpo::libtorch::metrics_of(score);
    }
    [[nodiscard]] std::optional<std::int64_t> classes() const override { return options_.shape.classes; }
    [[nodiscard]] bool mixes_examples() const override { return options_.kind == "resnet" && options_.shape.batch_norm; }
    void save(const std::filesystem::path& folder) const override { write_scale(options_.scale, folder); }
    void finish(hpo::libtorch::Model& model, const hpo::libtorch::EvaluationPlan& plan, hpo::Attributes& attributes) const override {
        attributes.set_text("data_hash", images_->hash);
        attributes.set_number("validation_examples", images_->split.validation.size());
        if (!options_.test_images) return;
        const ImageSet test = options_.test_images();
        const auto score =
            hpo::libtorch::score_classifier(model, {.examples = test.count, .classes = options_.shape.classes}, plan,
                                            [&](auto examples) { return image_batch(test, options_.scale, examples, plan.device); });
        hpo::libtorch::keep_test_score(score, attributes);
    }

private:
    [[nodiscard]] hpo::libtorch::Batch batch_of(const std::vector<std::int64_t>& part, std::span<const std::int64_t> examples,
                                                torch::Device device) const {
        std::vector<std::int64_t> indices;
        indices.reserve(examples.size());
        for (const std::int64_t example : examples) indices.push_back(part[static_cast<std::size_t>(example)]);
        return image_batch(*images_->set, options_.scale, indices, device);
    }

    std::shared_ptr<const PreparedImages> images_;
    Options options_;
    std::vector<std::string> parts_;  ///< of the model that was built last
};

}  // namespace hpo::image_classifier
