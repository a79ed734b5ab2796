// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/core/seed.hpp"
#include "hpo/dataset/sha256.hpp"
#include "idx_reader.hpp"

namespace hpo::image_classifier {

/// Grey images with labels, as bytes in host memory. No device's meter counts them.
struct ImageSet {
    std::int64_t count = 0;
    std::int64_t height = 0;
    std::int64_t width = 0;
    std::vector<std::uint8_t> pixels;  ///< count x height x width
    std::vector<std::uint8_t> labels;

    [[nodiscard]] std::span<const std::uint8_t> image(std::int64_t index) const {
        const auto size = static_cast<std::size_t>(height * width);
        return std::span{pixels}.subspan(static_cast<std::size_t>(index) * size, size);
    }
};

/// Reads `PREFIX-images-idx3-ubyte.gz` and `PREFIX-labels-idx1-ubyte.gz` of a folder. Throws Error.
[[nodiscard]] inline ImageSet read_images(const std::filesystem::path& folder, const std::string& prefix) {
    if (!std::filesystem::is_directory(folder)) {
        throw hpo::Error{hpo::Errc::bad_value, folder.string() + ": no such folder; expected one with " + prefix +
                                                   "-images-idx3-ubyte.gz (Debian: apt-get install dataset-fashion-mnist)"};
    }
    IdxArray images = read_idx(folder / (prefix + "-images-idx3-ubyte.gz"), 3);
    IdxArray labels = read_idx(folder / (prefix + "-labels-idx1-ubyte.gz"), 1);
    if (images.shape[0] != labels.shape[0]) {
        throw hpo::Error{hpo::Errc::bad_value, folder.string() + ": " + std::to_string(images.shape[0]) + " " + prefix + " images but " +
                                                   std::to_string(labels.shape[0]) + " labels; expected as many"};
    }
    return {images.shape[0], images.shape[1], images.shape[2], std::move(images.bytes), std::move(labels.bytes)};
}

/// How many of a folder's training images are used for training, and how many are held out.
struct SplitSizes {
    std::int64_t train = 0;  ///< 0: all images that are not held out
    std::int64_t validation = 0;
};

/// The images to train on, and the images held out to measure the objective.
struct Split {
    std::vector<std::int64_t> train;
    std::vector<std::int64_t> validation;
};

/// Splits the images. They are ordered by a constant seed. The last `validation` images are held out, and the first `train` are used for
/// training. Every trial of every study gets the same split. Throws Error if there are too few images.
[[nodiscard]] inline Split split_images(std::int64_t count, SplitSizes sizes) {
    if (sizes.train == 0) sizes.train = count - sizes.validation;
    if (sizes.train < 1 || sizes.train + sizes.validation > count) {
        throw hpo::bad_value("train_examples, validation_examples",
                             std::to_string(sizes.train) + " and " + std::to_string(sizes.validation),
                             "together at most the " + std::to_string(count) + " training images, and one or more to train on");
    }
    std::vector<std::int64_t> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    hpo::Rng rng = hpo::Seed{20}.derive("split").rng();
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
    return {{order.begin(), order.begin() + sizes.train}, {order.end() - sizes.validation, order.end()}};
}

/// One hash over the training images and the held-out images, with their labels.
[[nodiscard]] inline std::string content_hash(const ImageSet& set, const Split& split) {
    hpo::dataset::Sha256 hash;
    for (const std::vector<std::int64_t>* const part : {&split.train, &split.validation}) {
        hash.add(std::to_string(part->size()) + " x " + std::to_string(set.height) + " x " + std::to_string(set.width) + "\n");
        for (const std::int64_t index : *part) {
            const auto image = set.image(index);
            hash.add({reinterpret_cast<const char*>(image.data()), image.size()});
            hash.add({reinterpret_cast<const char*>(&set.labels[static_cast<std::size_t>(index)]), 1});
        }
    }
    return hpo::dataset::hex_text(hash.finish());
}

/// Mean and standard deviation of pixels, as shares of 255.
struct PixelScale {
    double mean = 0;
    double deviation = 1;

    static constexpr void fields(auto field) {
        field("mean", &PixelScale::mean);
        field("deviation", &PixelScale::deviation);
    }
};

[[nodiscard]] inline PixelScale pixel_scale(const ImageSet& set, std::span<const std::int64_t> chosen) {
    std::array<std::int64_t, 256> histogram{};
    for (const std::int64_t index : chosen) {
        for (const std::uint8_t pixel : set.image(index)) ++histogram[pixel];
    }
    double count = 0;
    double sum = 0;
    double squares = 0;
    for (std::size_t value = 0; value < histogram.size(); ++value) {
        const auto times = static_cast<double>(histogram[value]);
        const double share = static_cast<double>(value) / 255.0;
        count += times;
        sum += times * share;
        squares += times * share * share;
    }
    const double mean = sum / count;
    const double deviation = std::sqrt(std::max(0.0, squares / count - mean * mean));
    return {mean, deviation > 1e-6 ? deviation : 1};
}

}  // namespace hpo::image_classifier
