// SPDX-License-Identifier: MIT
#include <torch/version.h>

#include "gpu/operators/operator_table.hpp"

namespace gpu {

std::vector<Operator> products() {
    using I = const Inputs&;
    namespace F = torch::nn::functional;
    return {
        {"linear",
         [](I in) {
             return torch::linear(in.x(), in.w({768, 256}), in.w({768}));
         }},
            {"linear without bias",
             [](I in) {
                 return torch::linear(in.x(), in.w({768, 256}));
             }},
            {"linear of a matrix",
             [](I in) {
                 return torch::linear(in.x({8192, 256}), in.w({512, 256}), in.w({512}));
             }},
            {"linear to few classes",
             [](I in) {
                 return torch::linear(in.x({64, 768}), in.w({10, 768}), in.w({10}));
             }},
            {"linear of a vector",
             [](I in) {
                 return torch::linear(in.x({768}), in.w({10, 768}), in.w({10}));
             }},
            {"linear of a transpose",
             [](I in) {
                 return torch::linear(in.x({64, 256, 128}).transpose(1, 2), in.w({512, 256}), in.w({512}));
             }},
            {"linear, of which the weight is frozen",
             [](I in) {
                 return torch::linear(in.x(), in.fp32({768, 256}), in.fp32({768}));
             }},
            {"LoRA's two linears",
             [](I in) {
                 const torch::Tensor x = in.x();
                 return torch::linear(x, in.fp32({768, 256}), in.fp32({768})) +
                        torch::linear(torch::linear(torch::dropout(x, 0.1, true), in.w({8, 256})), in.w({768, 8})) * 2.0;
             }},
            {"linear and relu",
             [](I in) {
                 return torch::relu(torch::linear(in.x(), in.w({1024, 256}), in.w({1024})));
             }},
            {"linear and gelu",
             [](I in) {
                 return torch::gelu(torch::linear(in.x(), in.w({1024, 256}), in.w({1024})));
             }},
            {"mm",
             [](I in) {
                 return in.x({1024, 512}).mm(in.w({512, 768}));
             }},
            {"mm of a transpose",
             [](I in) {
                 return in.x({512, 1024}).t().mm(in.w({512, 768}));
             }},
            {"mv",
             [](I in) {
                 return in.x({1024, 512}).mv(in.w({512}));
             }},
            {"dot", [](I in) { return in.x({8192}).dot(in.x({8192})); }}, {"outer", [](I in) { return in.x({1024}).outer(in.x({512})); }},
            {"bmm",
             [](I in) {
                 return in.x().bmm(in.x({64, 256, 128}));
             }},
            {"matmul of four dimensions",
             [](I in) {
                 return in.x({16, 12, 128, 64}).matmul(in.x({16, 12, 64, 128}));
             }},
            {"matmul of transposed heads",
             [](I in) {
                 const torch::Tensor heads = in.x({16, 128, 768}).view({16, 128, 12, 64}).transpose(1, 2);
                 return heads.matmul(heads.transpose(-1, -2));
             }},
            {"matmul by a matrix",
             [](I in) {
                 return in.x().matmul(in.w({256, 128}));
             }},
            {"matmul of a shared factor",
             [](I in) {
                 return in.x({16, 1, 128, 64}).matmul(in.x({16, 12, 64, 128}));
             }},
            {"addmm",
             [](I in) {
                 return torch::addmm(in.w({768}), in.x({1024, 512}), in.w({512, 768}));
             }},
            {"addmm of a matrix",
             [](I in) {
                 return torch::addmm(in.x({1024, 768}), in.x({1024, 512}), in.w({512, 768}));
             }},
            {"baddbmm",
             [](I in) {
                 return torch::baddbmm(in.x({64, 128, 128}), in.x(), in.x({64, 256, 128}));
             }},
            {"addbmm",
             [](I in) {
                 return torch::addbmm(in.x({128, 128}), in.x(), in.x({64, 256, 128}));
             }},
            {"addmv",
             [](I in) {
                 return torch::addmv(in.x({1024}), in.x({1024, 512}), in.x({512}));
             }},
            {"einsum of heads",
             [](I in) {
                 return torch::einsum("bhqd,bhkd->bhqk", {in.x({16, 12, 128, 64}), in.x({16, 12, 128, 64})});
             }},
            {"einsum with a weight",
             [](I in) {
                 return torch::einsum("bsi,oi->bso", {in.x(), in.w({768, 256})});
             }},
            {"einsum, an outer product",
             [](I in) {
                 return torch::einsum("i,j->ij", {in.x({1024}), in.x({512})});
             }},
            {"einsum, summed", [](I in) { return torch::einsum("bsi->bi", {in.x()}); }},
            {"tensordot",
             [](I in) {
                 return torch::tensordot(in.x(), in.x({256, 128}), {2}, {0});
             }},
            {"bilinear",
             [](I in) {
                 return torch::bilinear(in.x({256, 64}), in.x({256, 32}), in.w({16, 64, 32}), in.w({16}));
             }},
            {"cdist",
             [](I in) {
                 return torch::cdist(in.x({512, 64}), in.x({256, 64}));
             }},
            {"chain_matmul",
             [](I in) {
                 return torch::linalg_multi_dot({in.x({256, 512}), in.x({512, 128}), in.x({128, 64})});
             }},
#if TORCH_VERSION_MAJOR >= 2
            {"attention",
             [](I in) {
                 return at::scaled_dot_product_attention(in.x({16, 12, 128, 64}), in.x({16, 12, 128, 64}), in.x({16, 12, 128, 64}));
             }},
            {"attention, causal",
             [](I in) {
                 return at::scaled_dot_product_attention(in.x({16, 12, 128, 64}), in.x({16, 12, 128, 64}), in.x({16, 12, 128, 64}), {}, 0,
                                                         true);
             }},
            {"attention with dropout",
             [](I in) {
                 return at::scaled_dot_product_attention(in.x({16, 12, 128, 64}), in.x({16, 12, 128, 64}), in.x({16, 12, 128, 64}), {},
                                                         0.1);
             }},
            {"attention with a mask",
             [](I in) {
                 return at::scaled_dot_product_attention(in.x({16, 12, 128, 64}), in.x({16, 12, 128, 64}), in.x({16, 12, 128, 64}),
                                                         in.mask({16, 1, 1, 128}).expand({16, 1, 128, 128}));
             }},
            {"attention with a float mask",
             [](I in) {
                 return at::scaled_dot_product_attention(in.x({16, 12, 128, 64}), in.x({16, 12, 128, 64}), in.x({16, 12, 128, 64}),
                                                         in.constant({16, 1, 1, 128}));
             }},
            {"attention of 100 queries",
             [](I in) {
                 return at::scaled_dot_product_attention(in.x({16, 12, 100, 64}), in.x({16, 12, 128, 64}), in.x({16, 12, 128, 64}));
             }},
            {"attention of joined heads",
             [](I in) {
                 const auto heads = [&] { return in.x({16, 128, 768}).view({16, 128, 12, 64}).transpose(1, 2); };
                 return at::scaled_dot_product_attention(heads(), heads(), heads()).transpose(1, 2).reshape({16, 128, 768});
             }},
            {"attention of heads of 40",
             [](I in) {
                 return at::scaled_dot_product_attention(in.x({16, 12, 128, 40}), in.x({16, 12, 128, 40}), in.x({16, 12, 128, 40}));
             }},
            {"attention without a batch",
             [](I in) {
                 return at::scaled_dot_product_attention(in.x({12, 128, 64}), in.x({12, 128, 64}), in.x({12, 128, 64}));
             }},
#endif
            {"attention written out",
             [](I in) {
                 const torch::Tensor scores = in.x({16, 12, 128, 64}).matmul(in.x({16, 12, 128, 64}).transpose(-1, -2)) / 8.0;
                 const torch::Tensor shares = torch::dropout(torch::softmax(scores, -1), 0.1, true);
                 return shares.matmul(in.x({16, 12, 128, 64}));
             }},
            {"multi_head_attention", [](I in) {
                 const torch::Tensor x = in.x({128, 16, 256});
                 return std::get<0>(
                     F::multi_head_attention_forward(x, x, x,
                                                     F::MultiheadAttentionForwardFuncOptions(256, 8, in.w({768, 256}), in.w({768}), {}, {},
                                                                                             false, 0.1, in.w({256, 256}), in.w({256}))));
             }},
    };
}

}  // namespace gpu
