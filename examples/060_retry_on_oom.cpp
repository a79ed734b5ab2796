// SPDX-License-Identifier: MIT
// Runs a computation of one's own again after an out-of-memory, each time with half of the batch. The CPU stands in for a device of 35 MB.
#include <torch/torch.h>

#include <cstdint>
#include <cstdio>

#include "hpo/torch/metered_allocator.hpp"
#include "hpo/torch/own_loops/retry_on_oom.hpp"

int main() {
    using namespace hpo::libtorch;
    MeteredAllocator::install();
    MeteredAllocator::instance().set_cap(35'000'000);
    torch::manual_seed(1);
    torch::nn::Linear model{1000, 1000};

    const auto largest_batch = [&](int number) {
        const std::int64_t batch = 16384 >> (number - 1);
        model->forward(torch::ones({batch, 1000})).sum().backward();
        return batch;
    };
    const RetryOptions options{.most_tries = 6, .failed = [](const FailedTry& failed) {
                                   std::printf("try %d of %d: %s, %.0f MB asked for\n", failed.number, failed.most,
                                               to_text(failed.failure.kind).data(),
                                               1e-6 * static_cast<double>(*failed.failure.requested_bytes));
                               }};
    const std::int64_t batch = retry_on_oom(largest_batch, options);
    std::printf("a batch of %lld fits\n", static_cast<long long>(batch));
}
