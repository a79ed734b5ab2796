// SPDX-License-Identifier: MIT
#include "gpu/operators/operator_table.hpp"
#include "torch/training/adafactor.hpp"

namespace gpu {

namespace {

/// Parameters with gradients.
std::vector<torch::Tensor> parameters(const Inputs& in) {
    std::vector<torch::Tensor> all{in.w({768, 768}), in.w({768}), in.w({3072, 768}), in.w({1024})};
    for (torch::Tensor& each : all) each.mutable_grad() = torch::empty_like(each);
    return all;
}
/// Two steps.
template <class Kind, class Options>
torch::Tensor steps(const Inputs& in, const Options& options) {
    Kind optimizer{std::vector<torch::optim::OptimizerParamGroup>{parameters(in)}, options};
    optimizer.step();
    optimizer.step();
    return {};
}

}  // namespace

std::vector<Operator> optimizers() {
    using I = const Inputs&;
    namespace O = torch::optim;
    return {
        {"SGD", [](I in) { return steps<O::SGD>(in, O::SGDOptions{0.1}); }},
        {"SGD with momentum", [](I in) { return steps<O::SGD>(in, O::SGDOptions{0.1}.momentum(0.9).nesterov(true).weight_decay(0.1)); }},
        {"Adam", [](I in) { return steps<O::Adam>(in, O::AdamOptions{0.1}); }},
        {"Adam with amsgrad", [](I in) { return steps<O::Adam>(in, O::AdamOptions{0.1}.amsgrad(true).weight_decay(0.1)); }},
        {"AdamW", [](I in) { return steps<O::AdamW>(in, O::AdamWOptions{0.1}); }},
        {"Adagrad", [](I in) { return steps<O::Adagrad>(in, O::AdagradOptions{0.1}); }},
        {"RMSprop", [](I in) { return steps<O::RMSprop>(in, O::RMSpropOptions{0.1}.momentum(0.9)); }},
        {"Adafactor",
         [](I in) {
             return steps<hpo::libtorch::Adafactor>(in, hpo::libtorch::AdafactorOptions{0.1, 0.0});
         }},
        {"gradients' norm, clipped",
         [](I in) {
             const torch::NoGradGuard no_gradients;
             std::vector<torch::Tensor> norms;
             const auto all = parameters(in);
             for (const torch::Tensor& each : all) norms.push_back(each.grad().norm());
             const torch::Tensor factor = (1.0 / (torch::stack(norms).norm() + 1e-6)).clamp_max(1.0);
             for (const torch::Tensor& each : all) each.grad().mul_(factor);
             return torch::Tensor{};
         }},
        {"_foreach_add_",
         [](I in) {
             const torch::NoGradGuard no_gradients;
             const auto all = parameters(in);
             at::_foreach_add_(all, 1.0);
             return torch::Tensor{};
         }},
        {"_foreach_mul",
         [](I in) {
             const torch::NoGradGuard no_gradients;
             return at::_foreach_mul(parameters(in), 2.0)[0];
         }},
        {"_foreach_addcdiv_",
         [](I in) {
             const torch::NoGradGuard no_gradients;
             const auto all = parameters(in);
             at::_foreach_addcdiv_(all, all, all, 0.1);
             return torch::Tensor{};
         }},
        {"_foreach_sqrt",
         [](I in) {
             const torch::NoGradGuard no_gradients;
             return at::_foreach_sqrt(parameters(in))[0];
         }},
        {"_foreach_norm",
         [](I in) {
             const torch::NoGradGuard no_gradients;
             return at::_foreach_norm(parameters(in))[0];
         }},
        {"exponential average of weights",
         [](I in) {
             const torch::NoGradGuard no_gradients;
             for (const torch::Tensor& each : parameters(in)) torch::empty_like(each).mul_(0.9).add_(each, 0.1);
             return torch::Tensor{};
         }},
    };
}

}  // namespace gpu
