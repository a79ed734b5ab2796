// SPDX-License-Identifier: MIT
#include "torch/encoder/distance_rows.hpp"

#include <torch/torch.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace hpo::libtorch {

std::int64_t distance_bucket(std::int64_t tokens, const text::EncoderConfig::Distances& distances) {
    const std::int64_t near = distances.buckets / 2;
    if (distances.buckets == 0 || tokens <= near) return tokens;
    const auto half = static_cast<float>(near);
    const float whole_range = std::log(static_cast<float>(static_cast<double>(distances.farthest - 1) / static_cast<double>(near)));
    const float share = std::log(static_cast<float>(tokens) / half) / whole_range;
    return static_cast<std::int64_t>(std::ceil(share * (half - 1)) + half);
}

DistanceRows distance_rows(std::int64_t tokens, const text::EncoderConfig::Distances& distances, torch::Device device) {
    const std::int64_t middle = distances.to_one_side();
    std::vector<std::int64_t> row;  // for the distances -(tokens - 1) to tokens - 1
    for (std::int64_t d = 1 - tokens; d < tokens; ++d) {
        const std::int64_t bucket = distance_bucket(std::abs(d), distances);
        row.push_back(std::clamp<std::int64_t>(middle + (d < 0 ? -bucket : bucket), 0, 2 * middle - 1));
    }
    const std::int64_t begin = row.front();
    const torch::Tensor rows = torch::tensor(row, torch::kLong).to(device) - begin;
    const torch::Tensor places = torch::arange(tokens, torch::TensorOptions{torch::kLong}.device(device));
    return {begin, row.back() - begin + 1, rows.index({places.unsqueeze(1) - places.unsqueeze(0) + (tokens - 1)})};
}

}  // namespace hpo::libtorch
