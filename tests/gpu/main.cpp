// SPDX-License-Identifier: MIT
#define CATCH_CONFIG_RUNNER
#include <c10/cuda/CUDAFunctions.h>

#include <cstdio>
#include <vector>

#include "bench/own_process.hpp"
#include "support/catch.hpp"

int main(int argc, char** argv) {
    // Asked in a process of its own: one that has looked at CUDA can start no others that use it.
    const auto devices = bench::tried_in_own_process([] { return std::vector<double>{static_cast<double>(c10::cuda::device_count())}; });
    if (!devices) {
        std::printf("a process that asked LibTorch how many GPUs there are did not answer\n");
        return 1;
    }
    if (devices->at(0) < 1) {
        std::printf("no GPU that LibTorch can use: nothing was tested\n");
        return 77;  // what CTest takes for skipped
    }
    return Catch::Session().run(argc, argv);
}
