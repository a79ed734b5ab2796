// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/EmptyTensor.h>
#include <ATen/ops/_to_copy_native.h>
#include <torch/library.h>
#include <torch/torch.h>
#include <torch/version.h>

#include "hpo/torch/metered_allocator.hpp"

namespace hpo::libtorch {

#if TORCH_VERSION_MAJOR >= 2
template <class T>
using TorchOptional = std::optional<T>;
#else
template <class T>
using TorchOptional = c10::optional<T>;
#endif

/// What the meta device stands in for.
enum class MetaTarget { cpu, cuda };

/// While it lives, this thread's new tensors are meta tensors if they would lie in host memory. So a model is built without memory for its
/// weights. Code that writes into them through a pointer crashes.
class MetaFactories {
public:
    MetaFactories() { ++depth(); }
    ~MetaFactories() { --depth(); }
    MetaFactories(const MetaFactories&) = delete;
    MetaFactories& operator=(const MetaFactories&) = delete;

    /// The device that a tensor for `wanted` is made on now.
    [[nodiscard]] static torch::Device device_for(TorchOptional<torch::Device> wanted) {
        const torch::Device device = wanted.value_or(torch::Device{torch::kCPU});
        return depth() > 0 && device.is_cpu() ? torch::Device{torch::kMeta} : device;
    }

private:
    static int& depth() {
        thread_local int depth = 0;
        return depth;
    }
};

}  // namespace hpo::libtorch

namespace hpo::libtorch::detail {

using FactorySizes = at::IntArrayRef;

[[nodiscard]] inline auto symbolic(FactorySizes sizes) {
#if TORCH_VERSION_MAJOR >= 2
    return c10::fromIntArrayRefSlow(sizes);
#else
    return c10::fromIntArrayRef(sizes);
#endif
}

inline torch::Tensor meta_empty(FactorySizes sizes, TorchOptional<at::ScalarType> type, TorchOptional<at::Layout> layout,
                                TorchOptional<at::Device> wanted, TorchOptional<bool> pinned, TorchOptional<at::MemoryFormat> format) {
    const at::Device device = MetaFactories::device_for(wanted);
    const c10::DispatchKeySet keys{c10::computeDispatchKey(type, layout, device)};
    return at::_ops::empty_memory_format::redispatch(keys, symbolic(sizes), type, layout, device, pinned, format);
}
inline torch::Tensor meta_empty_strided(FactorySizes sizes, FactorySizes strides, TorchOptional<at::ScalarType> type,
                                        TorchOptional<at::Layout> layout, TorchOptional<at::Device> wanted, TorchOptional<bool> pinned) {
    const at::Device device = MetaFactories::device_for(wanted);
    const c10::DispatchKeySet keys{c10::computeDispatchKey(type, layout, device)};
    return at::_ops::empty_strided::redispatch(keys, symbolic(sizes), symbolic(strides), type, layout, device, pinned);
}

}  // namespace hpo::libtorch::detail
