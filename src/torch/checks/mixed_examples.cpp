// SPDX-License-Identifier: MIT
#include "torch/checks/mixed_examples.hpp"

#include <torch/torch.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace hpo::libtorch {

bool MixedExamples::has_batch_norm(const Batch& batch) {
    const auto before = batches_seen();
    const torch::NoGradGuard no_gradients;
    static_cast<void>(model_.forward(batch));
    return batches_seen() != before;
}

std::optional<double> MixedExamples::share(const Batch& batch) {
    const std::int64_t half = batch.examples() / 2;
    if (half < 2) return std::nullopt;
    for (const auto& module : model_.modules()) leave_out_dropout(*module);
    const torch::NoGradGuard no_gradients;
    const Outputs whole = drawn(batch, 1);
    const auto halves = in_halves(batch, half, 1);
    const auto again = in_halves(batch, half, 2);
    if (!halves || !again) return std::nullopt;
    for (const auto& noise : {difference(whole, drawn(batch, 2)), difference(whole, drawn(batch, 3)), difference(*halves, *again)}) {
        constexpr double most_noise = 1e-5;
        if (!noise || *noise > most_noise) return std::nullopt;
    }
    return difference(whole, *halves);
}

void MixedExamples::leave_out_dropout(torch::nn::Module& module) {
    if (module.as<torch::nn::Dropout>() || module.as<torch::nn::Dropout2d>() || module.as<torch::nn::Dropout3d>() ||
        module.as<torch::nn::AlphaDropout>() || module.as<torch::nn::FeatureAlphaDropout>() || module.as<torch::nn::RNN>() ||
        module.as<torch::nn::LSTM>() || module.as<torch::nn::GRU>() || module.as<torch::nn::MultiheadAttention>())
        module.eval();
}

std::vector<std::int64_t> MixedExamples::batches_seen() const {
    std::vector<std::int64_t> seen;
    const auto add = [&](const auto* norm) {
        if (norm && norm->num_batches_tracked.defined()) seen.push_back(norm->num_batches_tracked.template item<std::int64_t>());
    };
    for (const auto& module : model_.modules()) {
        add(module->as<torch::nn::BatchNorm1d>());
        add(module->as<torch::nn::BatchNorm2d>());
        add(module->as<torch::nn::BatchNorm3d>());
    }
    return seen;
}

Batch MixedExamples::slice(const Batch& batch, std::int64_t begin, std::int64_t end) {
    Batch part{{}, batch.targets.slice(0, begin, end)};
    for (const torch::Tensor& input : batch.inputs) part.inputs.push_back(input.slice(0, begin, end));
    return part;
}

std::optional<Outputs> MixedExamples::in_halves(const Batch& batch, std::int64_t half, std::uint64_t seed) {
    const Outputs first = drawn(slice(batch, 0, half), seed);
    const Outputs second = drawn(slice(batch, half, batch.examples()), seed);
    if (first.size() != second.size()) return std::nullopt;
    std::vector<torch::Tensor> rows;
    for (std::size_t i = 0; i < first.size(); ++i) {
        const bool alike =
            first[i].dim() > 0 && first[i].dim() == second[i].dim() && first[i].sizes().slice(1) == second[i].sizes().slice(1);
        if (!alike) return std::nullopt;
        rows.push_back(torch::cat({first[i], second[i]}));
    }
    return Outputs{rows};
}

std::optional<double> MixedExamples::difference(const Outputs& some, const Outputs& others) {
    if (some.size() != others.size()) return std::nullopt;
    double largest = 0;
    for (std::size_t i = 0; i < some.size(); ++i) {
        const torch::Tensor& a = some[i];
        const torch::Tensor& b = others[i];
        if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) return std::nullopt;
        if (a.numel() == 0 || (a.scalar_type() != torch::kFloat && a.scalar_type() != torch::kDouble)) continue;
        const auto scale = a.abs().max().item<double>();
        if (scale > 0) largest = std::max(largest, (a - b).abs().max().item<double>() / scale);
    }
    return largest;
}

}  // namespace hpo::libtorch
