// SPDX-License-Identifier: MIT
// Tells the peak of a stretch of one's own program, and what it kept.
#include <torch/torch.h>

#include <cstdint>
#include <cstdio>

#include "hpo/torch/metered_allocator.hpp"
#include "hpo/torch/own_loops/memory_monitor.hpp"

int main() {
    using namespace hpo::libtorch;
    MeteredAllocator::install();  // on a GPU LibTorch's own allocator counts
    const torch::Tensor weights = torch::ones({250'000});

    const MemoryMonitor monitor{torch::kCPU};
    torch::Tensor kept;
    {
        const torch::Tensor scratch = torch::ones({500'000});
        kept = torch::ones({125'000});
    }
    const MonitoredMemory use = monitor.use();
    std::printf("at the beginning %lld bytes, at the peak %lld, kept %lld\n", static_cast<long long>(*use.begin.allocated),
                static_cast<long long>(use.peak_allocated()), static_cast<long long>(use.kept()));
}
