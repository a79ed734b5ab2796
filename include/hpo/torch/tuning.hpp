// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/error.hpp"
#include "hpo/torch/low_rank.hpp"
#include "hpo/torch/model_parts.hpp"

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
[[nodiscard]] inline std::size_t frozen_parts(const std::vector<std::string>& parts, const TuningSettings& settings) {
    if (settings.kind == TuningKind::full && !settings.frozen_embeddings && settings.frozen_layers == 0) return 0;
    if (parts.size() < 2) {
        if (settings.kind == TuningKind::lora && !settings.frozen_embeddings && settings.frozen_layers == 0) return 0;
        const char* const place = settings.kind == TuningKind::probe ? "train.tuning"
                                  : settings.frozen_layers > 0       ? "train.frozen_layers"
                                                                     : "train.frozen_embeddings";
        throw bad_value(place, "a part to freeze", "none: this trainer's model is one part");
    }
    if (settings.kind == TuningKind::probe) return parts.size() - 1;
    const auto most = static_cast<std::int64_t>(parts.size()) - 2;
    if (settings.frozen_layers > most) {
        throw bad_value("train.frozen_layers", std::to_string(settings.frozen_layers),
                        "at most " + std::to_string(most) + ", the layers between the model's first part and its last");
    }
    return settings.frozen_layers > 0 ? static_cast<std::size_t>(settings.frozen_layers) + 1 : settings.frozen_embeddings ? 1 : 0;
}

/// Decides which of the model's parameters learn, and adapts its layers. `parts` as Task::layers tells them. Before the model goes to its
/// device. Throws Error for what the model has not.
inline void tune(::torch::nn::Module& model, const std::vector<std::string>& parts, const TuningSettings& settings) {
    check_parts(model, parts);
    const std::size_t frozen = frozen_parts(parts, settings);
    const bool lora = settings.kind == TuningKind::lora;
    for (const auto& item : model.named_parameters()) {
        const std::size_t part = part_of(item.key(), parts);
        const bool last = parts.empty() ? false : part + 1 == parts.size();
        if ((!parts.empty() && part < frozen) || (lora && !last)) item.value().set_requires_grad(false);
    }
    if (!lora) return;
    adapt_layers(model, settings.lora, [&](std::string_view name) {
        if (parts.empty()) return true;
        const std::size_t part = part_of(name, parts);
        return part >= frozen && part + 1 < parts.size();
    });
}

}  // namespace hpo::torch
