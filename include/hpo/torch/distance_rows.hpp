// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>

#include "hpo/text/encoder_config.hpp"

namespace hpo::torch {

/// The bucket of a distance of `tokens`, 0 or more: near ones have their own, from half of the buckets on the farther share one the
/// more (He et al. 2021; like Raffel et al. 2020). Calculated in single precision, as published models were.
[[nodiscard]] std::int64_t distance_bucket(std::int64_t tokens, const text::EncoderConfig::Distances& distances);

/// Which rows of DeBERTa's embeddings of distances texts of a length need, and which of them each pair of tokens.
struct DistanceRows {
    std::int64_t begin = 0;
    std::int64_t count = 0;
    ::torch::Tensor rows;  ///< [tokens, tokens], from 0 to count - 1: [i, j] is the row of j as seen from i
};

[[nodiscard]] DistanceRows distance_rows(std::int64_t tokens, const text::EncoderConfig::Distances& distances, ::torch::Device device);

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/distance_rows_inl.hpp"
#endif
