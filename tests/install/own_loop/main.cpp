// SPDX-License-Identifier: MIT
#include <torch/torch.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <vector>

#include "hpo/torch/metered_allocator.hpp"
#include "hpo/torch/own_loops/adaptive_batch.hpp"
#include "hpo/torch/own_loops/clean_up.hpp"
#include "hpo/torch/own_loops/memory_monitor.hpp"
#include "hpo/torch/own_loops/retry_on_oom.hpp"
#include "hpo/torch/training/batch_checks.hpp"

using namespace hpo::libtorch;

int main() {
    MeteredAllocator::install();
    auto model = std::make_shared<torch::nn::LinearImpl>(4, 3);
    auto optimizer = std::make_unique<torch::optim::SGD>(model->parameters(), torch::optim::SGDOptions{0.1});
    const Batch batch{{torch::ones({8, 4})}, torch::ones({8}, torch::kLong)};
    BatchChecks checks{{.classes = 3}};
    checks.check_batch(batch);

    const MemoryMonitor monitor{torch::kCPU};
    std::int64_t micro_batch = 0;
    bool refused = false;
    retry_on_oom([&](int number) {
        if (number == 1) C10_THROW_ERROR(OutOfMemoryError, "a device that is full");
        AdaptiveBatch adaptive{*model, *optimizer, {.micro_batch = 8}};
        const std::vector<std::int64_t> examples{0, 1, 2, 3, 4, 5, 6, 7};
        adaptive.step(examples, [&](std::span<const std::int64_t> part) {
            if (!refused) MeteredAllocator::instance().refuse_nth(1);
            refused = true;
            const auto rows = batch.inputs[0].slice(0, part.front(), part.back() + 1);
            return torch::nn::functional::cross_entropy(model->forward(rows), batch.targets.slice(0, part.front(), part.back() + 1),
                                                        torch::nn::functional::CrossEntropyFuncOptions{}.reduction(torch::kSum));
        });
        micro_batch = adaptive.micro_batch();
    });
    const bool measured = monitor.use().peak_reserved() > 0;
    const CleanUp done = clean_up(torch::kCPU, model, optimizer);
    std::printf("micro-batch %lld, %s\n", static_cast<long long>(micro_batch), done.problem.c_str());
    return micro_batch == 4 && measured && done.problem.empty() && !model ? 0 : 1;
}
