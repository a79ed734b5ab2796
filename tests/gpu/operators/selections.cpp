// SPDX-License-Identifier: MIT
#include "gpu/operators/operator_table.hpp"

namespace gpu {

std::vector<Operator> selections() {
    using I = const Inputs&;
    return {
        {"embedding",
         [](I in) {
             return torch::embedding(in.w({30000, 256}), in.ids({64, 128}));
         }},
        {"embedding of few",
         [](I in) {
             return torch::embedding(in.w({512, 64}), in.ids({4, 16}));
         }},
        {"embedding with padding",
         [](I in) {
             return torch::embedding(in.w({30000, 256}), in.ids({64, 128}), 0);
         }},
        {"embedding of ten thousands",
         [](I in) {
             return torch::embedding(in.w({1000, 64}), in.ids({256, 512}));
         }},
        {"embedding_bag",
         [](I in) {
             return std::get<0>(torch::embedding_bag(in.w({1000, 64}), in.ids({2048}), in.ids({64})));
         }},
        {"weight[ids]",
         [](I in) {
             return in.w({30000, 256}).index({in.ids({64, 128})});
         }},
        {"x[:, 0]", [](I in) { return in.x().select(1, 0); }},
        {"x[:, :64]", [](I in) { return in.x().slice(1, 0, 64); }},
        {"x[rows, columns]",
         [](I in) {
             return in.x({512, 1000}).index({in.ids({512}), in.ids({512})});
         }},
        {"x[:, ids]",
         [](I in) {
             return in.x().index({torch::indexing::Slice(), in.ids({32})});
         }},
        {"index_select", [](I in) { return in.x().index_select(1, in.ids({32})); }},
        {"gather",
         [](I in) {
             return in.x({8192, 1000}).gather(1, in.ids({8192, 1}));
         }},
        {"gather of as many",
         [](I in) {
             return in.x({1024, 512}).gather(1, in.ids({1024, 512}));
         }},
        {"take_along_dim",
         [](I in) {
             return in.x({8192, 100}).take_along_dim(in.ids({8192, 1}), 1);
         }},
        {"take",
         [](I in) {
             return in.x({8192, 100}).take(in.ids({8192}));
         }},
        {"scatter of a tensor",
         [](I in) {
             return in.x({1024, 512}).scatter(1, in.ids({1024, 4}), in.x({1024, 4}));
         }},
        {"scatter of a number",
         [](I in) {
             return in.x({1024, 512}).scatter(1, in.ids({1024, 4}), 1.0);
         }},
        {"scatter_add",
         [](I in) {
             return in.x({1024, 512}).scatter_add(1, in.ids({1024, 4}), in.x({1024, 4}));
         }},
        {"index_add",
         [](I in) {
             return in.x({1024, 512}).index_add(0, in.ids({256}), in.x({256, 512}));
         }},
        {"index_copy",
         [](I in) {
             return in.x({1024, 512}).index_copy(0, in.ids({256}), in.x({256, 512}));
         }},
        {"index_fill",
         [](I in) {
             return in.x({1024, 512}).index_fill(0, in.ids({256}), 0);
         }},
        {"index_put",
         [](I in) {
             return in.x({1024, 512}).index_put({in.ids({256})}, in.x({256, 512}));
         }},
        {"index_put, accumulated",
         [](I in) {
             return in.x({1024, 512}).index_put({in.ids({256})}, in.x({256, 512}), true);
         }},
        {"one_hot", [](I in) { return torch::one_hot(in.ids({8192}), 100); }},
        {"cat of rows",
         [](I in) {
             return torch::cat({in.x(), in.x()}, -1);
         }},
        {"cat of examples",
         [](I in) {
             return torch::cat({in.x(), in.x()}, 0);
         }},
        {"cat of two types",
         [](I in) {
             return torch::cat({in.x(), in.w({64, 128, 256})}, 0);
         }},
        {"stack",
         [](I in) {
             return torch::stack({in.x(), in.x(), in.x()}, 0);
         }},
        {"split and add",
         [](I in) {
             const auto parts = in.x().split(128, -1);
             return parts[0] + parts[1];
         }},
        {"chunk of three",
         [](I in) {
             const auto parts = in.x({64, 128, 768}).chunk(3, -1);
             return parts[0] * parts[1] + parts[2];
         }},
        {"unbind and add",
         [](I in) {
             const auto parts = in.x({3, 64, 128, 64}).unbind(0);
             return parts[0] * parts[1] + parts[2];
         }},
        {"repeat",
         [](I in) {
             return in.x({64, 1, 256}).repeat({1, 16, 1});
         }},
        {"expand and add",
         [](I in) {
             return in.x({64, 1, 256}).expand({64, 128, 256}) + in.x();
         }},
        {"repeat_interleave",
         [](I in) {
             return in.x({64, 16, 256}).repeat_interleave(4, 1);
         }},
        {"roll", [](I in) { return in.x().roll(3, 1); }},
        {"flip", [](I in) { return in.x().flip({1}); }},
        {"tril",
         [](I in) {
             return in.x({64, 128, 128}).tril();
         }},
        {"diagonal",
         [](I in) {
             return in.x({64, 128, 128}).diagonal(0, 1, 2);
         }},
        {"unfold",
         [](I in) {
             return in.x({64, 1024}).unfold(1, 64, 32).contiguous();
         }},
        {"view_as_complex",
         [](I in) {
             return torch::view_as_real(torch::view_as_complex(in.w({64, 128, 128, 2})) * torch::view_as_complex(in.fp32({128, 128, 2})));
         }},
        {"arange", [](I in) { return torch::arange(4096, torch::TensorOptions{in.device}); }},
        {"randperm", [](I in) { return torch::randperm(4096, torch::TensorOptions{in.device}); }},
        {"randint", [](I in) { return torch::randint(10, {4096}, torch::TensorOptions{in.device}); }},
        {"multinomial",
         [](I in) {
             return torch::multinomial(in.fp32({64, 100}), 1);
         }},
        {"multinomial without repetition",
         [](I in) {
             return torch::multinomial(in.fp32({64, 100}), 5);
         }},
        {"meshgrid and stack",
         [](I in) {
             const auto grid = torch::meshgrid({in.x({64}), in.x({64})}, "ij");
             return torch::stack({grid[0], grid[1]});
         }},
        {"bucketize", [](I in) { return torch::bucketize(in.fp32({8192}), in.fp32({64})); }},
        {"searchsorted", [](I in) { return torch::searchsorted(in.fp32({64}), in.fp32({8192})); }},
        {"nan_to_num", [](I in) { return in.x().nan_to_num(); }},
    };
}

}  // namespace gpu
