// SPDX-License-Identifier: MIT
#include "image_classifier/augmentation.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "support/catch.hpp"

using hpo::image_classifier::Augmentation;

namespace {

/// Two rows of three pixels, after this augmentation; -1 is the background.
std::vector<float> augmented(const Augmentation& augmentation, std::uint64_t seed) {
    std::vector<float> image{1, 2, 3, 4, 5, 6};
    hpo::image_classifier::augment(image, 3, -1, augmentation, hpo::Rng{seed});
    return image;
}

/// All that a hundred seeds give.
std::set<std::vector<float>> all_of(const Augmentation& augmentation) {
    std::set<std::vector<float>> all;
    for (std::uint64_t seed = 0; seed < 100; ++seed) all.insert(augmented(augmentation, seed));
    return all;
}

}  // namespace

TEST_CASE("an image is mirrored left to right or stays as it is") {
    CHECK(all_of({.flip = true}) == std::set<std::vector<float>>{{1, 2, 3, 4, 5, 6}, {3, 2, 1, 6, 5, 4}});
}

TEST_CASE("an image is shifted by at most so many pixels each way, and background comes in") {
    const auto shifted = all_of({.shift = 1});
    CHECK(shifted.size() == 9);
    CHECK(shifted.count({1, 2, 3, 4, 5, 6}) == 1);
    CHECK(shifted.count({-1, -1, -1, -1, 1, 2}) == 1);  // down and to the right
    CHECK(shifted.count({5, 6, -1, -1, -1, -1}) == 1);  // up and to the left
}

TEST_CASE("the same random numbers change an image alike, and without augmentation nothing changes") {
    const Augmentation both{.shift = 2, .flip = true};
    CHECK(augmented(both, 5) == augmented(both, 5));
    CHECK(all_of(both).size() > 9);
    CHECK(all_of({}) == std::set<std::vector<float>>{{1, 2, 3, 4, 5, 6}});
    CHECK_FALSE(Augmentation{}.changes_images());
    CHECK(both.changes_images());
}
