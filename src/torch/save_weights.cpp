// SPDX-License-Identifier: MIT
#include "torch/save_weights.hpp"

#include <torch/torch.h>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/torch/metered_allocator.hpp"
#include "hpo/weights/tensor.hpp"
#include "weights/write_safetensors.hpp"

namespace hpo::libtorch {

weights::Dtype stored_dtype(torch::ScalarType type) {
    using weights::Dtype;
    switch (type) {
        case torch::kFloat: return Dtype::f32;
        case torch::kDouble: return Dtype::f64;
        case torch::kHalf: return Dtype::f16;
        case torch::kBFloat16: return Dtype::bf16;
        case torch::kLong: return Dtype::i64;
        case torch::kInt: return Dtype::i32;
        case torch::kShort: return Dtype::i16;
        case torch::kChar: return Dtype::i8;
        case torch::kByte: return Dtype::u8;
        case torch::kBool: return Dtype::boolean;
        default: throw Error{Errc::bad_value, std::string{"a safetensors file has no type for "} + torch::toString(type)};
    }
}

void save_weights(const torch::nn::Module& module, const std::filesystem::path& file) {
    const Unmetered outside;
    std::vector<torch::Tensor> kept;
    weights::TensorMap tensors;
    const auto add = [&](const auto& items) {
        for (const auto& item : items) {
            kept.push_back(item.value().detach().to(torch::kCPU).contiguous());
            const torch::Tensor& tensor = kept.back();
            const torch::IntArrayRef shape = tensor.sizes();
            tensors[item.key()] = {.dtype = stored_dtype(tensor.scalar_type()),
                                   .shape = {shape.begin(), shape.end()},
                                   .bytes = {static_cast<const std::byte*>(tensor.data_ptr()), tensor.nbytes()}};
        }
    };
    add(module.named_parameters());
    add(module.named_buffers());
    weights::write_safetensors(file, tensors, {{"format", "pt"}});
}

}  // namespace hpo::libtorch
