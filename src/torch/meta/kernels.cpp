// SPDX-License-Identifier: MIT
#include "torch/meta/kernels.hpp"

#include <ATen/ExpandUtils.h>
#include <ATen/ops/add_meta_dispatch.h>
#include <torch/torch.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hpo/torch/meta/onednn.hpp"
#include "hpo/torch/recording/value_reads.hpp"
#include "torch/recording/doubt.hpp"

namespace hpo::libtorch::kernels_of_meta {

at::Scalar local_scalar_dense(const Tensor& /*self*/) { return ValueReads::answer("item") ? 1 : 0; }

bool equal(const Tensor& self, const Tensor& other) {
    if (self.sizes() != other.sizes()) return false;
    const bool same = self.is_alias_of(other) && self.storage_offset() == other.storage_offset() && self.strides() == other.strides() &&
                      self.scalar_type() == other.scalar_type();
    return same || !ValueReads::answer("equal");
}

Tensor nonzero(const Tensor& self) {
    const std::int64_t found = ValueReads::answer("nonzero") ? 0 : self.numel();
    return at::empty({found, self.dim()}, self.options().dtype(at::kLong));
}

Tensor one_hot(const Tensor& self, std::int64_t classes) {
    std::vector<std::int64_t> shape = self.sizes().vec();
    shape.push_back(classes > 0 ? classes : ValueReads::answer("one_hot") ? 2 : 1);
    return at::empty(shape, self.options());
}

Tensor& copy_(Tensor& self, const Tensor& /*source*/, bool /*non_blocking*/) {
    if (self.is_meta()) return self;
    return ValueReads::answer("a copy to another device") ? self.fill_(1) : self.zero_();
}

Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other) {
    const auto shape = at::infer_size(at::infer_size(condition.sizes(), self.sizes()), other.sizes());
    const Tensor& placed = self.is_meta() ? self : condition;
    return at::empty(shape, placed.options().dtype(at::result_type(self, other)));
}

Tensor host_add(const Tensor& self, const Tensor& other, const at::Scalar& alpha) {
    const at::ScalarType type = at::result_type(self, other);
    const Tensor sum = at::meta::add(self, other, alpha);
    static_cast<void>(std::pair{converted(self, type), converted(other, type)});
    return sum;
}

Tensor& host_add_(Tensor& self, const Tensor& other, const at::Scalar& alpha) {
    const at::ScalarType type = at::result_type(self, other);
    const Tensor sum = converted(self, type);  // the sum before it is cast back
    static_cast<void>(std::pair{converted(self, type), converted(other, type)});
    return at::meta::add_(self, other, alpha);
}

Tensor index_select(const Tensor& self, std::int64_t dim, const Tensor& index) {
    std::vector<std::int64_t> shape = self.sizes().vec();
    shape[static_cast<std::size_t>(dim < 0 ? dim + self.dim() : dim)] = index.numel();
    return at::empty(shape, self.options());
}

Three native_layer_norm(const Tensor& input, Sizes normalised, const MaybeTensor& /*weight*/, const MaybeTensor& /*bias*/, double /*eps*/) {
    std::vector<std::int64_t> shape = input.sizes().vec();
    for (std::size_t i = shape.size() - normalised.size(); i < shape.size(); ++i) shape[i] = 1;
    return {at::empty_like(input, at::MemoryFormat::Contiguous), at::empty(shape, statistics_like(input)),
            at::empty(shape, statistics_like(input))};
}

Tensor plain_convolution(const Tensor& input, const Tensor& weight, const MaybeTensor& /*bias*/, Sizes stride, Sizes padding,
                         Sizes dilation, bool transposed, Sizes output_padding, std::int64_t groups) {
    std::vector<std::int64_t> shape{input.size(0), transposed ? weight.size(1) * groups : weight.size(0)};
    for (std::int64_t axis = 2; axis < input.dim(); ++axis) {
        const auto at = static_cast<std::size_t>(axis - 2);
        const Sweep sweep{weight.size(axis), stride[at], padding[at], dilation[at]};
        shape.push_back(transposed ? sweep.transposed_outputs(input.size(axis), output_padding[at]) : sweep.outputs(input.size(axis)));
    }
    return at::empty(shape, input.options(), input.suggest_memory_format());
}

void require_whole_blocks(const Tensor& input, const Tensor& weight, bool transposed) {
    constexpr std::int64_t block = 16;
    constexpr std::int64_t image_channels = 3;
    const std::int64_t outputs = transposed ? weight.size(1) : weight.size(0);
    if (outputs % block == 0 && (input.size(1) % block == 0 || input.size(1) <= image_channels)) return;
    throw std::runtime_error{"a convolution from " + std::to_string(input.size(1)) + " to " + std::to_string(outputs) +
                             " channels, which oneDNN fills up to blocks of 16: only a probe tells its memory"};
}

void require_onednn(const Tensor& input) {
    if (onednn_has(input.scalar_type())) return;
    throw std::runtime_error{"a convolution of " + std::string{c10::toString(input.scalar_type())} +
                             ", which this processor's oneDNN has not: only a probe tells its memory"};
}

Tensor onednn_convolution(const Tensor& input, const Tensor& weight, const MaybeTensor& bias, Sizes stride, Sizes padding, Sizes dilation,
                          bool transposed, Sizes output_padding, std::int64_t groups) {
    require_onednn(input);
    require_whole_blocks(input, weight, transposed);
    Doubt::note(0.01, "a convolution");
    const auto output = [&] {
        return plain_convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
    };
    Tensor arranged_weight = at::empty_like(weight);
    const Tensor arranged_output = output();
    arranged_weight.reset();
    return output();
}

Three onednn_convolution_backward(const Tensor& gradient, const Tensor& input, const Tensor& weight, Sizes stride, Sizes padding,
                                  Sizes dilation, bool transposed, Sizes output_padding, std::int64_t groups, std::array<bool, 3> wanted) {
    const auto gradients = [&](std::array<bool, 3> some) {
        return plain_convolution_backward(gradient, input, weight, stride, padding, dilation, transposed, output_padding, groups, some);
    };
    Tensor of_input;
    if (wanted[0]) {
        Tensor arranged_gradient = at::empty_like(gradient);
        Tensor arranged_weight = at::empty_like(weight);
        const Tensor arranged = at::empty_like(input);
        arranged_weight.reset();
        arranged_gradient.reset();
        of_input = std::get<0>(gradients({true, false, false}));
    }
    if (!wanted[1] && !wanted[2]) return {of_input, Tensor{}, Tensor{}};
    Tensor arranged_input = at::empty_like(input);
    Tensor arranged_gradient = at::empty_like(gradient);
    const Tensor arranged = at::empty_like(weight);
    arranged_input.reset();
    arranged_gradient.reset();
    auto rest = gradients({false, wanted[1], wanted[2]});
    std::get<0>(rest) = of_input;
    return rest;
}

Tensor adaptive_avg_pool2d(const Tensor& self, Sizes outputs) {
    std::vector<std::int64_t> shape(self.sizes().begin(), self.sizes().end() - 2);
    shape.insert(shape.end(), outputs.begin(), outputs.end());
    return at::empty(shape, self.options());
}

}  // namespace hpo::libtorch::kernels_of_meta
