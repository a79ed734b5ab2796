// SPDX-License-Identifier: MIT
#include "hpo/torch/meta/device.hpp"

#include <torch/library.h>
#include <torch/torch.h>

#include "hpo/torch/meta/allocator.hpp"
#include "hpo/torch/meta/kernels.hpp"
#include "hpo/torch/meta/missing_kernels.hpp"
#include "hpo/torch/meta/products.hpp"
#include "hpo/torch/meta/quiet_registration.hpp"

namespace hpo::libtorch::inline meta {

MetaDevice::MetaDevice(MetaTarget target) {
    MetaAllocator::install();
    const QuietRegistration quiet;
    replace_factories();
    add_operators(target);
    if (target == MetaTarget::cpu) move_instead_of_copying();
}

void MetaDevice::add_operators(MetaTarget target) {
    const auto add = [&](const char* name, const char* overload, auto* kernel) { add_if_missing(operators_, name, overload, kernel); };
    add("_local_scalar_dense", "", &meta::local_scalar_dense);
    add("equal", "", &meta::equal);
    add("nonzero", "", &meta::nonzero);
    add("min", "", &meta::extreme);
    add("max", "", &meta::extreme);
    add("relu", "", &meta::relu);
    add("relu_", "", &meta::relu_);
    add("where", "self", &meta::where);
    add("where", "self_out", &meta::where_out);
    add("native_dropout", "", &meta::native_dropout);
    add("native_dropout_backward", "", &meta::native_dropout_backward);
    add("log_sigmoid_forward", "", &meta::log_sigmoid_forward);
    add("index_select", "", &meta::index_select);
    add("embedding_dense_backward", "", &meta::embedding_dense_backward);
    add("mse_loss_backward", "", &meta::mse_loss_backward);
    add("smooth_l1_loss_backward", "", &meta::smooth_l1_loss_backward);
    add("binary_cross_entropy", "", &meta::binary_cross_entropy);
    add("binary_cross_entropy_backward", "", &meta::binary_cross_entropy_backward);
    add("native_layer_norm", "", &meta::native_layer_norm);
    add("native_layer_norm_backward", "", &meta::native_layer_norm_backward);
    add("native_batch_norm", "", &meta::native_batch_norm);
    add("native_batch_norm_backward", "", &meta::native_batch_norm_backward);
    add("native_group_norm", "", &meta::native_group_norm);
    add("native_group_norm_backward", "", &meta::native_group_norm_backward);
    const bool cpu = target == MetaTarget::cpu;
    add("convolution_overrideable", "", cpu ? &meta::onednn_convolution : &meta::plain_convolution);
    add("convolution_backward_overrideable", "", cpu ? &meta::onednn_convolution_backward : &meta::plain_convolution_backward);
    add("_adaptive_avg_pool2d", "", &meta::adaptive_avg_pool2d);
    add("_adaptive_avg_pool2d_backward", "", &meta::adaptive_avg_pool2d_backward);
    operators_.impl("copy_", &meta::copy_);
    // LibTorch composes one_hot of operators whose gradients it knows. The kernel must be registered here and before those.
    operators_.impl("one_hot", &meta::one_hot);
    composites_.impl("one_hot", &meta::one_hot);
    if (!cpu) return;
    operators_.impl("add.Tensor", &meta::host_add);
    operators_.impl("add_.Tensor", &meta::host_add_);
    operators_.impl("mm", &meta::host_mm);
    operators_.impl("bmm", &meta::host_bmm);
    operators_.impl("addmm", &meta::host_addmm);
    operators_.impl("baddbmm", &meta::host_baddbmm);
}

torch::Tensor MetaDevice::moved(const torch::Tensor& self, TorchOptional<at::ScalarType> type, TorchOptional<at::Layout> layout,
                                TorchOptional<at::Device> device, TorchOptional<bool> pinned, bool non_blocking,
                                TorchOptional<at::MemoryFormat> format) {
    const auto copy = [&] { return at::native::_to_copy(self, type, layout, device, pinned, non_blocking, format); };
    const bool same_type = !type || *type == self.scalar_type();
    if (!self.is_cpu() || !same_type) return copy();
    // A charge moves to the copy. A tensor without a charge (a data set) gets a copy without one.
    if (MeteredAllocator::end_record(self.storage().data_ptr())) return copy();
    const Unmetered outside;
    return copy();
}

}  // namespace hpo::libtorch::meta
