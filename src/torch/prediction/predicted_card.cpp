// SPDX-License-Identifier: MIT
#include "torch/prediction/predicted_card.hpp"

#ifdef HPO_TORCH_CUDA
#include <c10/core/Device.h>
#include <cuda_runtime_api.h>
#include <algorithm>
#endif
#include <torch/version.h>
#include <cstdint>
#include <optional>

#include "hpo/allocator/compute_capability.hpp"
#include "hpo/allocator/cublas_workspace.hpp"
#include "hpo/allocator/settings.hpp"

namespace hpo::libtorch {

Card predicted_card(const TrainerJob& job) {
    constexpr allocator::ComputeCapability hopper{9, 0};
    const bool on_hopper = job.cublas_workspace_bytes == std::int64_t{32} << 20;
    const auto version = allocator::parse_libtorch_version(TORCH_VERSION).value_or(allocator::LibTorchVersion{});
    const std::int64_t usual = allocator::usual_cublas_workspace_bytes(version, std::nullopt);
    const std::int64_t workspace = version.major < 2 ? 0 : job.cublas_workspace_bytes.value_or(usual);
    const Card otherwise{on_hopper ? hopper : Card{}.capability, on_hopper ? 132 : Card{}.multiprocessors, workspace};
#ifdef HPO_TORCH_CUDA
    const c10::Device device{job.plan.device};
    const int number = std::max<int>(device.index(), 0);
    const auto told = [&](cudaDeviceAttr attribute) {
        int value = 0;
        return cudaDeviceGetAttribute(&value, attribute, number) == cudaSuccess ? std::optional{value} : std::nullopt;
    };
    const auto multiprocessors = told(cudaDevAttrMultiProcessorCount);
    const auto major = told(cudaDevAttrComputeCapabilityMajor);
    const auto minor = told(cudaDevAttrComputeCapabilityMinor);
    if (!multiprocessors || !major || !minor) {
        static_cast<void>(cudaGetLastError());  // LibTorch would throw it later
        return otherwise;
    }
    const Card there{{*major, *minor}, *multiprocessors, workspace};
    return on_hopper && there.capability != hopper ? otherwise : there;
#else
    return otherwise;
#endif
}

}  // namespace hpo::libtorch
