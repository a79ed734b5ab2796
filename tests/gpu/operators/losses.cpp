// SPDX-License-Identifier: MIT
#include "gpu/operators/operator_table.hpp"

namespace gpu {

std::vector<Operator> losses() {
    using I = const Inputs&;
    using at::Reduction::Mean;
    using at::Reduction::None;
    using at::Reduction::Sum;
    return {
        {"cross_entropy",
         [](I in) {
             return torch::cross_entropy_loss(in.x({8192, 1000}), in.ids({8192}));
         }},
        {"cross_entropy, summed",
         [](I in) {
             return torch::cross_entropy_loss(in.x({64, 10}), in.ids({64}), {}, Sum);
         }},
        {"cross_entropy of each",
         [](I in) {
             return torch::cross_entropy_loss(in.x({8192, 1000}), in.ids({8192}), {}, None);
         }},
        {"cross_entropy with class weights",
         [](I in) {
             return torch::cross_entropy_loss(in.x({8192, 1000}), in.ids({8192}), in.fp32({1000}));
         }},
        {"cross_entropy with smoothing",
         [](I in) {
             return torch::cross_entropy_loss(in.x({8192, 1000}), in.ids({8192}), {}, Mean, -100, 0.1);
         }},
        {"cross_entropy of pixels",
         [](I in) {
             return torch::cross_entropy_loss(in.x({8, 21, 64, 64}), in.ids({8, 64, 64}));
         }},
        {"cross_entropy of shares",
         [](I in) {
             return torch::cross_entropy_loss(in.x({1024, 100}), in.fp32({1024, 100}));
         }},
        {"cross_entropy of a language model",
         [](I in) {
             const torch::Tensor logits = torch::linear(in.x({16, 128, 256}), in.w({8000, 256}));
             return torch::cross_entropy_loss(logits.view({-1, 8000}), in.ids({2048}));
         }},
        {"nll_loss",
         [](I in) {
             return torch::nll_loss(in.x({8192, 1000}), in.ids({8192}));
         }},
        {"mse_loss", [](I in) { return torch::mse_loss(in.x(), in.constant()); }},
        {"mse_loss, summed", [](I in) { return torch::mse_loss(in.x(), in.constant(), Sum); }},
        {"mse_loss of each", [](I in) { return torch::mse_loss(in.x(), in.constant(), None); }},
        {"l1_loss", [](I in) { return torch::l1_loss(in.x(), in.constant()); }},
        {"smooth_l1_loss", [](I in) { return torch::smooth_l1_loss(in.x(), in.constant()); }},
        {"huber_loss", [](I in) { return torch::huber_loss(in.x(), in.constant()); }},
        {"binary_cross_entropy",
         [](I in) {
             return torch::binary_cross_entropy(in.w({8192, 100}), in.fp32({8192, 100}));
         }},
        {"binary_cross_entropy_with_logits",
         [](I in) {
             return torch::binary_cross_entropy_with_logits(in.x({8192, 100}), in.constant({8192, 100}));
         }},
        {"kl_div",
         [](I in) {
             return torch::kl_div(in.x({8192, 100}), in.constant({8192, 100}));
         }},
        {"soft_margin_loss",
         [](I in) {
             return torch::soft_margin_loss(in.x({8192, 100}), in.constant({8192, 100}));
         }},
        {"hinge_embedding_loss",
         [](I in) {
             return torch::hinge_embedding_loss(in.x({8192, 100}), in.constant({8192, 100}));
         }},
        {"margin_ranking_loss", [](I in) { return torch::margin_ranking_loss(in.x({8192}), in.x({8192}), in.constant({8192})); }},
        {"triplet_margin_loss",
         [](I in) {
             return torch::triplet_margin_loss(in.x({512, 128}), in.x({512, 128}), in.x({512, 128}));
         }},
        {"cosine_embedding_loss",
         [](I in) {
             return torch::cosine_embedding_loss(in.x({512, 128}), in.x({512, 128}), in.constant({512}));
         }},
        {"poisson_nll_loss", [](I in) { return torch::poisson_nll_loss(in.x({8192}), in.constant({8192}), true, false, 1e-8, Mean); }},
        {"gaussian_nll_loss written out",
         [](I in) {
             const torch::Tensor variance = torch::exp(in.x({8192}));
             return (0.5 * (torch::log(variance) + (in.x({8192}) - in.constant({8192})).pow(2) / variance)).mean();
         }},
        {"multi_margin_loss",
         [](I in) {
             return torch::multi_margin_loss(in.x({1024, 100}), in.ids({1024}));
         }},
    };
}

}  // namespace gpu
