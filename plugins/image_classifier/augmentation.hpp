// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hpo/core/seed.hpp"

namespace hpo::image_classifier {

/// How training images are changed at random. They are shifted, with background moving in, and mirrored left to right.
struct Augmentation {
    std::int64_t shift = 0;  ///< the most pixels in each direction
    bool flip = false;       ///< mirrors half of the images, on average

    [[nodiscard]] bool changes_images() const { return shift > 0 || flip; }
};

/// Changes an image, [height, width], in place. `background` is the value of an empty pixel.
inline void augment(std::span<float> image, std::int64_t width, float background, const Augmentation& augmentation, hpo::Rng rng) {
    const std::int64_t height = static_cast<std::int64_t>(image.size()) / width;
    const auto offset = [&] {
        return static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(2 * augmentation.shift + 1))) - augmentation.shift;
    };
    const std::int64_t down = offset();
    const std::int64_t right = offset();
    const bool mirrored = augmentation.flip && rng.below(2) == 1;
    const std::vector<float> before(image.begin(), image.end());
    for (std::int64_t row = 0; row < height; ++row) {
        for (std::int64_t column = 0; column < width; ++column) {
            const std::int64_t from_row = row - down;
            const std::int64_t shifted = column - right;
            const std::int64_t from_column = mirrored ? width - 1 - shifted : shifted;
            const bool inside = from_row >= 0 && from_row < height && from_column >= 0 && from_column < width;
            image[static_cast<std::size_t>(row * width + column)] =
                inside ? before[static_cast<std::size_t>(from_row * width + from_column)] : background;
        }
    }
}

}  // namespace hpo::image_classifier
