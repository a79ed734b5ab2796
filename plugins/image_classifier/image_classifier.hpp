// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "hpo/torch/torch_trainer.hpp"
#include "image_task.hpp"

namespace hpo::image_classifier {

/// Classifies grey images with an MLP, a small CNN or a ResNet. Reads data sets in MNIST's format.
class ImageClassifier final : public hpo::libtorch::TorchTrainer {
protected:
    [[nodiscard]] hpo::TrainerInfo describe() const override {
        using std::string;
        hpo::TrainerInfo info;
        info.name = "image_classifier";
        info.summary = "images into classes: MLP, small CNN, ResNet; IDX files such as Fashion-MNIST";
        info.parameters = {
            {"model.kind", "one of mlp, cnn, resnet", "", string{"cnn"}, "architecture"},
            {"model.width", "int", "[1, 65536]", std::int64_t{128}, "units of a hidden linear layer (mlp, cnn)"},
            {"model.depth", "int", "[1, 64]", std::int64_t{2}, "hidden layers, convolutions, or residual blocks a stage"},
            {"model.channels", "int", "[1, 4096]", std::int64_t{16}, "of the first convolution (cnn, resnet)"},
            {"train.dropout", "float", "[0, 1)", 0.0, "share of units dropped", hpo::MemoryUse::whether_zero},
            {"weights", "text", "", string{}, "safetensors file or saved model that the model begins from; empty: from nothing"},
            {"new_head", "bool", "", false, "the last layer begins from nothing all the same, for other classes", hpo::MemoryUse::none},
            {"augment.shift", "int", "[0, 64]", std::int64_t{0}, "pixels that training images are shifted by at random, at most",
             hpo::MemoryUse::none},
            {"augment.flip", "bool", "", false, "training images are mirrored left to right at random", hpo::MemoryUse::none},
            {"norm", "one of group, batch", "", string{"group"}, "of the ResNet; with batch an accumulated step is approximate"},
            {"data", "text", "", string{"/usr/share/datasets/fashion-mnist"}, "folder of the IDX files"},
            {"classes", "int", "[2, 256]", std::int64_t{10}, "number of classes"},
            {"train_examples", "int", "[0, inf)", std::int64_t{0}, "images trained on; 0: all that are not held out"},
            {"validation_examples", "int", "[1, inf)", std::int64_t{10000}, "training images held out for the metrics"},
        };
        for (hpo::TrainerParameter& each : hpo::libtorch::classification_parameters("images")) info.parameters.push_back(std::move(each));
        info.metrics = hpo::libtorch::classification_metrics("images");
        info.levers = {"activation_checkpointing"};
        return info;
    }

    [[nodiscard]] std::unique_ptr<hpo::libtorch::Task> make_task(const hpo::Settings& settings, const hpo::TrainerJob& job) override {
        auto images = prepare(settings);
        ImageTask::Options options{
            .kind = settings.text("model.kind"),
            .shape = {.height = images->set->height,
                      .width = images->set->width,
                      .classes = settings.whole("classes"),
                      .hidden = settings.whole("model.width"),
                      .depth = settings.whole("model.depth"),
                      .channels = settings.whole("model.channels"),
                      .dropout = settings.number("train.dropout"),
                      .batch_norm = settings.text("norm") == "batch",
                      .recompute = job.plan.activation_checkpointing},
            .loss = hpo::libtorch::classification_loss(settings, [&] { return examples_of_class(settings, *images); }),
            .weights = {.place = job.saved_model.empty() ? settings.text("weights") : "", .new_head = settings.truth("new_head")},
            .scale = job.saved_model.empty() ? images->scale : read_scale(job.saved_model),
            .augmentation = {.shift = settings.whole("augment.shift"), .flip = settings.truth("augment.flip")},
            .test_images = {}};
        if (settings.truth("report_test")) {
            options.test_images = [folder = settings.text("data")] { return read_images(folder, "t10k"); };
        }
        return std::make_unique<ImageTask>(std::move(images), std::move(options));
    }

private:
    static std::vector<std::int64_t> examples_of_class(const hpo::Settings& settings, const PreparedImages& images) {
        std::vector<std::int64_t> counts(static_cast<std::size_t>(settings.whole("classes")));
        for (const std::int64_t image : images.split.train) {
            const std::size_t label = images.set->labels[static_cast<std::size_t>(image)];
            if (label < counts.size()) ++counts[label];
        }
        return counts;
    }

    using Key = std::tuple<std::string, std::int64_t, std::int64_t>;

    /// The images. They are read once for all attempts of this worker with the same folder and split.
    std::shared_ptr<const PreparedImages> prepare(const hpo::Settings& settings) {
        const SplitSizes sizes{settings.whole("train_examples"), settings.whole("validation_examples")};
        const std::string& folder = settings.text("data");
        if (Key key{folder, sizes.train, sizes.validation}; !images_ || key != key_) {
            const bool same_folder = images_ && std::get<0>(key_) == folder;
            auto set = same_folder ? images_->set : std::make_shared<const ImageSet>(read_images(folder, "train"));
            Split split = split_images(set->count, sizes);
            const PixelScale scale = pixel_scale(*set, split.train);
            std::string hash = content_hash(*set, split);
            images_ = std::make_shared<const PreparedImages>(PreparedImages{set, std::move(split), scale, std::move(hash)});
            key_ = std::move(key);
        }
        return images_;
    }

    std::shared_ptr<const PreparedImages> images_;
    Key key_;
};

}  // namespace hpo::image_classifier
