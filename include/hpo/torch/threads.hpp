// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/Parallel.h>
#include <dlfcn.h>

namespace hpo::libtorch {

/// Sets how many threads LibTorch and OpenBLAS use for what the calling thread computes. Results are equal to the last bit only for equal
/// numbers of threads.
inline void pin_threads(int threads) {
    at::set_num_threads(threads);
    // OpenBLAS built on pthreads has a pool that at::set_num_threads does not reach.
    if (void* const symbol = ::dlsym(RTLD_DEFAULT, "openblas_set_num_threads")) {
        reinterpret_cast<void (*)(int)>(symbol)(threads);
    }
}

}  // namespace hpo::libtorch
