// SPDX-License-Identifier: MIT
#include "torch/meta/cuda_attention.hpp"

#include <torch/torch.h>
#include <algorithm>
#include <cstdint>
#include <optional>

#include "torch/meta/cuda_reductions.hpp"

namespace hpo::libtorch {

namespace fused {

[[nodiscard]] inline std::int64_t whole(std::int64_t number, std::int64_t of) { return (number + of - 1) / of; }
[[nodiscard]] inline bool in_half(const torch::Tensor& tensor) { return tensor.element_size() == 2; }
/// As CUDA's kernels see a tensor of [examples, heads, rows, numbers]: the heads of a row lie together.
[[nodiscard]] inline torch::Tensor joined_like(const torch::Tensor& tensor) {
    return torch::empty({tensor.size(0), tensor.size(2), tensor.size(1), tensor.size(3)}, tensor.options()).transpose(1, 2);
}

}  // namespace fused

bool CudaAttention::takes(const Tensor& query, const std::optional<Tensor>& mask) {
    const std::int64_t at_once = fused::in_half(query) ? 8 : 4;
    return query.dim() == 4 && query.size(-1) % at_once == 0 && !(mask && mask->defined() && mask->requires_grad());
}

CudaAttention::Tensor CudaAttention::of(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& mask,
                                        double dropout) {
    std::optional<Tensor> bias;
    if (mask && mask->defined()) {
        bias = *mask;
        if (mask->scalar_type() == torch::kBool) {  // becomes one of zeros and minus infinity
            const auto number = [&] { return torch::empty({}, query.options()); };
            const Tensor kept = number();
            const Tensor left_out = number();
            bias = torch::empty(mask->sizes(), query.options());
        }
    }
    const bool keeps = at::GradMode::is_enabled() && (query.requires_grad() || key.requires_grad() || value.requires_grad());
    const bool flash = !bias && fused::in_half(query) && query.size(-1) <= 256 && kernels_of_cuda::card().capability.major >= 8;
    return apply(query, key, value, bias, flash, dropout > 0, keeps);
}

CudaAttention::Tensor CudaAttention::forward(torch::autograd::AutogradContext* context, const Tensor& query, const Tensor& key,
                                             const Tensor& value, const std::optional<Tensor>& bias, bool flash, bool drops, bool keeps) {
    const auto bytes = [&](std::int64_t count) { return torch::empty({count}, query.options().dtype(torch::kByte)); };
    constexpr std::int64_t rows_at_once = 32;
    const Tensor output = flash && query.size(-1) == value.size(-1) ? torch::empty_like(query) : [&] {
        Tensor made = torch::empty({query.size(0), query.size(2), query.size(1), value.size(3)}, query.options()).transpose(1, 2);
        return made;
    }();
    const std::int64_t rows = flash ? query.size(2) : keeps ? fused::whole(query.size(2), rows_at_once) * rows_at_once : 0;
    const Tensor sums = torch::empty({query.size(0), query.size(1), rows}, query.options().dtype(torch::kFloat));
    torch::autograd::variable_list kept{query, key, value, output, sums};
    if (bias) kept.push_back(*bias);
    if (flash) {
        Tensor state = bytes(16);  // of the generator of random numbers
        kept.push_back(bytes(8));
        if (drops) state = bytes(16);
        kept.push_back(state);
    }
    context->save_for_backward(kept);
    context->saved_data["flash"] = flash;
    return output;
}

torch::autograd::variable_list CudaAttention::backward(torch::autograd::AutogradContext* context,
                                                       torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    auto found = context->saved_data["flash"].toBool() ? flash_backward(saved, gradients[0]) : efficient_backward(saved, gradients[0]);
    found.resize(7);
    return found;
}

torch::autograd::variable_list CudaAttention::flash_backward(const torch::autograd::variable_list& saved, const Tensor& gradient) {
    constexpr std::int64_t rows_at_once = 128;
    const Tensor& query = saved[0];
    const Tensor of_output = gradient.transpose(1, 2).contiguous();
    const Tensor output = saved[3].transpose(1, 2).contiguous();
    torch::autograd::variable_list found{torch::empty_like(query), torch::empty_like(saved[1]), torch::empty_like(saved[2])};
    const std::int64_t rows = fused::whole(query.size(2), rows_at_once) * rows_at_once;
    const std::int64_t numbers = query.size(3) <= 128 ? fused::whole(query.size(3), 32) * 32 : fused::whole(query.size(3), 64) * 64;
    const auto fp32 = query.options().dtype(torch::kFloat);
    const Tensor of_rows = torch::empty({query.size(0), query.size(1), rows}, fp32);
    const Tensor sums = torch::empty({query.size(0), query.size(1), rows, numbers}, fp32);
    return found;
}

torch::autograd::variable_list CudaAttention::efficient_backward(const torch::autograd::variable_list& saved, const Tensor& gradient) {
    const Tensor& query = saved[0];
    torch::autograd::variable_list found;
    const bool together = query.storage().is_alias_of(saved[1].storage()) && query.storage().is_alias_of(saved[2].storage()) &&
                          query.size(2) == saved[1].size(2) && query.size(3) == saved[2].size(3);
    if (together) {  // one block for the three
        const Tensor all = torch::empty({query.size(0), query.size(2), 3, query.size(1), query.size(3)}, query.options());
        for (std::int64_t i = 0; i < 3; ++i) found.push_back(all.select(2, i).transpose(1, 2));
    } else {
        for (std::size_t i = 0; i < 3; ++i) found.push_back(fused::joined_like(saved[i]));
    }
    const auto fp32 = query.options().dtype(torch::kFloat);
    const auto of_rows = [&] { return torch::empty({query.size(0), query.size(1), query.size(2)}, fp32); };
    Tensor products_of_rows;
    if (fused::in_half(query)) {
        products_of_rows = of_rows();  // the kernel adds them up itself
    } else {
        const Tensor product = torch::empty(gradient.sizes(), fp32);
        const Tensor sum = of_rows();
        products_of_rows = of_rows();
    }
    const Tensor workspace =
        torch::empty({query.size(0) * query.size(1) * efficient_workspace(query, saved[1])}, query.options().dtype(torch::kByte));
    products_of_rows.reset();
    return found;
}

std::int64_t CudaAttention::efficient_workspace(const Tensor& query, const Tensor& key) {
    const std::int64_t rows = query.size(2);
    const std::int64_t numbers = query.size(3);
    const bool half = fused::in_half(query);
    const auto tiles = [&](std::int64_t height, std::int64_t width) {
        constexpr std::int64_t counters = 16;
        return fused::whole(rows, height) * fused::whole(numbers, width) * (height * width * 4 + counters);
    };
    if (numbers <= 64) return tiles(64, 64);
    if (numbers <= 128) return half ? tiles(128, 128) : tiles(128, 64);
    const std::int64_t of_keys = 2 * fused::whole(key.size(2), 64) * 64 * fused::whole(numbers, 128) * 128 * 4;
    return tiles(128, 64) + (half ? of_keys : 0);
}

}  // namespace hpo::libtorch
