// SPDX-License-Identifier: MIT
#include "hpo/torch/adaptation/tuning.hpp"

#include <torch/torch.h>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/base/error.hpp"
#include "torch/adaptation/model_parts.hpp"

namespace hpo::libtorch {

std::size_t frozen_parts(const std::vector<std::string>& parts, const TuningSettings& settings) {
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

void tune(torch::nn::Module& model, const std::vector<std::string>& parts, const TuningSettings& settings) {
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

}  // namespace hpo::libtorch
