// SPDX-License-Identifier: MIT
#include "torch/meta/device.hpp"

#include <torch/library.h>
#include <torch/torch.h>

#include "torch/meta/allocator.hpp"
#include "torch/meta/kernels.hpp"
#include "torch/meta/missing_kernels.hpp"
#include "torch/meta/products.hpp"
#include "torch/meta/quiet_registration.hpp"

namespace hpo::libtorch {

MetaDevice::MetaDevice(MetaTarget target) {
    MetaAllocator::install();
    const QuietRegistration quiet;
    replace_factories();
    add_operators(target);
    if (target == MetaTarget::cpu) move_instead_of_copying();
}

void MetaDevice::add_operators(MetaTarget target) {
    const auto add = [&](const char* name, const char* overload, auto* kernel) { add_if_missing(operators_, name, overload, kernel); };
    add("_local_scalar_dense", "", &kernels_of_meta::local_scalar_dense);
    add("equal", "", &kernels_of_meta::equal);
    add("nonzero", "", &kernels_of_meta::nonzero);
    add("min", "", &kernels_of_meta::extreme);
    add("max", "", &kernels_of_meta::extreme);
    add("relu", "", &kernels_of_meta::relu);
    add("relu_", "", &kernels_of_meta::relu_);
    add("where", "self", &kernels_of_meta::where);
    add("where", "self_out", &kernels_of_meta::where_out);
    add("native_dropout", "", &kernels_of_meta::native_dropout);
    add("native_dropout_backward", "", &kernels_of_meta::native_dropout_backward);
    add("log_sigmoid_forward", "", &kernels_of_meta::log_sigmoid_forward);
    add("index_select", "", &kernels_of_meta::index_select);
    add("embedding_dense_backward", "", &kernels_of_meta::embedding_dense_backward);
    add("mse_loss_backward", "", &kernels_of_meta::mse_loss_backward);
    add("smooth_l1_loss_backward", "", &kernels_of_meta::smooth_l1_loss_backward);
    add("binary_cross_entropy", "", &kernels_of_meta::binary_cross_entropy);
    add("binary_cross_entropy_backward", "", &kernels_of_meta::binary_cross_entropy_backward);
    add("native_layer_norm", "", &kernels_of_meta::native_layer_norm);
    add("native_layer_norm_backward", "", &kernels_of_meta::native_layer_norm_backward);
    add("native_batch_norm", "", &kernels_of_meta::native_batch_norm);
    add("native_batch_norm_backward", "", &kernels_of_meta::native_batch_norm_backward);
    add("native_group_norm", "", &kernels_of_meta::native_group_norm);
    add("native_group_norm_backward", "", &kernels_of_meta::native_group_norm_backward);
    const bool cpu = target == MetaTarget::cpu;
    add("convolution_overrideable", "", cpu ? &kernels_of_meta::onednn_convolution : &kernels_of_meta::plain_convolution);
    add("convolution_backward_overrideable", "",
        cpu ? &kernels_of_meta::onednn_convolution_backward : &kernels_of_meta::plain_convolution_backward);
    add("_adaptive_avg_pool2d", "", &kernels_of_meta::adaptive_avg_pool2d);
    add("_adaptive_avg_pool2d_backward", "", &kernels_of_meta::adaptive_avg_pool2d_backward);
    operators_.impl("copy_", &kernels_of_meta::copy_);
    // LibTorch composes one_hot of operators whose gradients it knows. The kernel must be registered here and before those.
    operators_.impl("one_hot", &kernels_of_meta::one_hot);
    composites_.impl("one_hot", &kernels_of_meta::one_hot);
    if (!cpu) return;
    operators_.impl("add.Tensor", &kernels_of_meta::host_add);
    operators_.impl("add_.Tensor", &kernels_of_meta::host_add_);
    operators_.impl("mm", &kernels_of_meta::host_mm);
    operators_.impl("bmm", &kernels_of_meta::host_bmm);
    operators_.impl("addmm", &kernels_of_meta::host_addmm);
    operators_.impl("baddbmm", &kernels_of_meta::host_baddbmm);
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

}  // namespace hpo::libtorch
