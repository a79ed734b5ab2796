// SPDX-License-Identifier: MIT
#include "torch/checks/few_passes.hpp"

#include <torch/torch.h>
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace hpo::libtorch {

Outputs FewPasses::forward(const Batch& batch) {
    constexpr int most_passes = 200;
    if (++passes_ > most_passes) throw Enough{};
    const bool has_targets = batch.targets.defined() && batch.targets.dim() > 0;
    if (has_targets) most_examples_ = std::max(most_examples_, batch.examples());
    std::vector<std::int64_t> shape;  // of one example
    for (const torch::Tensor& input : batch.inputs) {
        for (std::int64_t i = 1; i < input.dim(); ++i) shape.push_back(input.size(i));
        shape.push_back(-1);
    }
    if (!first_ || shape != shape_) {
        Outputs outputs = whole_.forward(batch);
        const bool countable = std::ranges::all_of(outputs, [](const torch::Tensor& each) { return each.dim() > 0 && each.size(0) > 0; });
        first_.reset();
        if (countable) first_ = outputs.each([](const torch::Tensor& each) { return each.slice(0, 0, 1); });
        shape_ = std::move(shape);
        return outputs;
    }
    return first_->each([&](const torch::Tensor& one) {
        std::vector<std::int64_t> sizes = one.sizes().vec();
        sizes.front() = batch.examples();
        return one.expand(sizes).clone();
    });
}

}  // namespace hpo::libtorch
