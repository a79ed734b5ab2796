// SPDX-License-Identifier: MIT
// A training loop of one's own that goes on after an out-of-memory, with smaller micro-batches and the same effective batch. The CPU stands
// in for a device of 25 MB.
#include <torch/torch.h>

#include <cstdint>
#include <cstdio>
#include <numeric>
#include <span>
#include <vector>

#include "hpo/torch/metered_allocator.hpp"
#include "hpo/torch/own_loops/adaptive_batch.hpp"

int main() {
    using namespace hpo::libtorch;
    MeteredAllocator::install();
    MeteredAllocator::instance().set_cap(25'000'000);
    torch::manual_seed(1);
    const torch::Tensor x = torch::randn({512, 20});
    const torch::Tensor y = x.sum(1, true);
    torch::nn::Sequential model{torch::nn::Linear{20, 10000}, torch::nn::ReLU{}, torch::nn::Linear{10000, 1}};
    torch::optim::SGD optimizer{model->parameters(), torch::optim::SGDOptions{1e-3}};

    AdaptiveBatch adaptive{*model, optimizer, {.micro_batch = 512, .changed = [](const MicroBatchChange& change) {
                                                   std::printf("step %lld again: micro-batch %lld, after %s\n",
                                                               static_cast<long long>(change.step), static_cast<long long>(change.to),
                                                               to_text(change.failure.kind).data());
                                               }}};
    const auto loss_sum = [&](std::span<const std::int64_t> part) {
        const torch::Tensor chosen = torch::tensor(std::vector<std::int64_t>(part.begin(), part.end()), torch::kLong);
        return (model->forward(x.index_select(0, chosen)) - y.index_select(0, chosen)).pow(2).sum();
    };
    std::vector<std::int64_t> examples(512);
    std::iota(examples.begin(), examples.end(), std::int64_t{0});
    const double first = adaptive.step(examples, loss_sum);
    double last = first;
    while (adaptive.steps() < 20) last = adaptive.step(examples, loss_sum);
    std::printf("%lld steps of 512 examples, in micro-batches of %lld: the loss fell %s\n", static_cast<long long>(adaptive.steps()),
                static_cast<long long>(adaptive.micro_batch()), last < first / 2 ? "to less than half" : "little");
}
