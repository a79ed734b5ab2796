// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>

#include "hpo/text/stored/encoder_config.hpp"

namespace hpo::libtorch {

/// The bucket of a distance of `tokens`, 0 or more. Short distances have a bucket each. From half of the buckets on, the farther the
/// distances, the more of them share a bucket (He et al. 2021; similar to Raffel et al. 2020). Computed in single precision, as for the
/// published models.
[[nodiscard]] std::int64_t distance_bucket(std::int64_t tokens, const text::EncoderConfig::Distances& distances);

/// The rows of DeBERTa's distance embeddings that texts of a length need, and the row of each pair of tokens.
struct DistanceRows {
    std::int64_t begin = 0;
    std::int64_t count = 0;
    torch::Tensor rows;  ///< [tokens, tokens], from 0 to count - 1: [i, j] is the row for token j seen from token i
};

[[nodiscard]] DistanceRows distance_rows(std::int64_t tokens, const text::EncoderConfig::Distances& distances, torch::Device device);

}  // namespace hpo::libtorch
