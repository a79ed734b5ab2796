// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/torch/adaptation/low_rank.hpp"

namespace hpo::libtorch {

/// Which weights learn. full: all. probe: only those of the last part (a linear probe if that part is one layer). lora: low-rank additions
/// to the layers, and all of the last part.
enum class TuningKind { full, probe, lora };

inline constexpr std::array<std::string_view, 3> tuning_names{"full", "probe", "lora"};
[[nodiscard]] constexpr std::optional<TuningKind> tuning_kind(std::string_view text) {
    for (std::size_t i = 0; i < tuning_names.size(); ++i) {
        if (tuning_names[i] == text) return static_cast<TuningKind>(i);
    }
    return std::nullopt;
}

struct TuningSettings {
    TuningKind kind = TuningKind::full;
    bool frozen_embeddings = false;  ///< the first part does not learn
    std::int64_t frozen_layers = 0;  ///< this many parts after the first do not learn; above 0, nor does the first
    LoraSettings lora;
};

/// How many of the model's parts do not learn, counted from the input. Throws Error if the model has too few parts.
[[nodiscard]] std::size_t frozen_parts(const std::vector<std::string>& parts, const TuningSettings& settings);

/// Decides which of the model's parameters learn, and adapts its layers. `parts` comes from Task::layers. Call it before the model moves to
/// its device. Throws Error for settings that do not fit the model.
void tune(torch::nn::Module& model, const std::vector<std::string>& parts, const TuningSettings& settings);

}  // namespace hpo::libtorch
