// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>
#include <torch/torch.h>

#include "torch/meta/factories.hpp"

namespace hpo::libtorch {

/// While it lives, whole training steps can run on LibTorch's meta device. It adds the operators that LibTorch has for this device in
/// Python only. A recording sees what the target would be asked for. One at a time in a process.
///
/// Design note: operators are registered only while the object lives. The whole process sees a registration, and plugins may bring their
/// own.
class MetaDevice {
public:
    explicit MetaDevice(MetaTarget target);
    MetaDevice(const MetaDevice&) = delete;
    MetaDevice& operator=(const MetaDevice&) = delete;

private:
    void replace_factories() {
        factories_.impl("empty.memory_format", &detail::meta_empty);
        factories_.impl("empty_strided", &detail::meta_empty_strided);
    }
    void add_operators(MetaTarget target);
    /// A CPU "device" is host memory, so no copy is needed: the new tensor takes over the account of the old one.
    void move_instead_of_copying() { operators_.impl("_to_copy", &moved); }

    static torch::Tensor moved(const torch::Tensor& self, TorchOptional<at::ScalarType> type, TorchOptional<at::Layout> layout,
                               TorchOptional<at::Device> device, TorchOptional<bool> pinned, bool non_blocking,
                               TorchOptional<at::MemoryFormat> format);

    torch::Library factories_{torch::Library::IMPL, "aten", c10::DispatchKey::BackendSelect, __FILE__, __LINE__};
    torch::Library operators_{torch::Library::IMPL, "aten", c10::DispatchKey::Meta, __FILE__, __LINE__};
    torch::Library composites_{torch::Library::IMPL, "aten", c10::DispatchKey::AutogradMeta, __FILE__, __LINE__};
};

}  // namespace hpo::libtorch
