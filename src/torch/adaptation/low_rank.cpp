// SPDX-License-Identifier: MIT
#include "hpo/torch/adaptation/low_rank.hpp"

#include <torch/torch.h>
#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"

namespace hpo::libtorch {

std::vector<std::string> adapt_layers(torch::nn::Module& module, const LoraSettings& settings,
                                      const std::function<bool(std::string_view)>& wanted) {
    std::vector<std::pair<std::string, LowRankLayer*>> layers;
    for (const auto& item : module.named_modules({}, /*include_self=*/false)) {
        auto* const layer = dynamic_cast<LowRankLayer*>(item.value().get());
        if (layer && wanted(item.key())) layers.emplace_back(item.key(), layer);
    }
    if (layers.empty()) throw bad_value("train.tuning", "lora", "another tuning: the model has no layer that can be adapted");
    const auto names = [](const std::string& layer, const std::string& target) { return layer == target || layer.ends_with("." + target); };
    for (const std::string& target : settings.targets) {
        if (std::any_of(layers.begin(), layers.end(), [&](const auto& layer) { return names(layer.first, target); })) continue;
        std::vector<std::string> known;
        for (const auto& [name, layer] : layers) {
            const std::string last = name.substr(name.rfind('.') + 1);
            if (std::find(known.begin(), known.end(), last) == known.end()) known.push_back(last);
        }
        throw unknown_name("lora.targets", "layer", target, known);
    }
    std::vector<std::string> adapted;
    for (const auto& [name, layer] : layers) {
        const auto chosen = [&, &layer_name = name](const std::string& target) { return names(layer_name, target); };
        if (!settings.targets.empty() && std::none_of(settings.targets.begin(), settings.targets.end(), chosen)) continue;
        layer->adapt(settings);
        adapted.push_back(name);
    }
    return adapted;
}

void merge_layers(torch::nn::Module& module) {
    for (const auto& part : module.modules(/*include_self=*/false)) {
        if (auto* const layer = dynamic_cast<LowRankLayer*>(part.get())) layer->merge();
    }
}

}  // namespace hpo::libtorch
