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

#include "hpo/torch/low_rank.hpp"

namespace hpo::torch {

/// Which weights learn: all; those of the last part alone (a linear probe, where that part is one layer); or low-rank additions to the
/// layers, with the last part whole.
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
    bool frozen_embeddings = false;  ///< the first part learns nothing
    std::int64_t frozen_layers = 0;  ///< nor do the parts that follow it, as many as this, with the first
    LoraSettings lora;
};

/// How many of the model's parts, counted from the input, learn nothing. Throws Error where the model has too few.
[[nodiscard]] std::size_t frozen_parts(const std::vector<std::string>& parts, const TuningSettings& settings);

/// Decides which of the model's parameters learn, and adapts its layers. `parts` as Task::layers tells them. Before the model goes to its
/// device. Throws Error for what the model has not.
void tune(::torch::nn::Module& model, const std::vector<std::string>& parts, const TuningSettings& settings);

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/tuning_inl.hpp"
#endif
