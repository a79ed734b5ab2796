// SPDX-License-Identifier: MIT
#include "gpu/operators/operator_table.hpp"

namespace gpu {

std::vector<Operator> elementwise_operators() {
    using I = const Inputs&;
    namespace F = torch::nn::functional;
    return {
        {"relu", [](I in) { return torch::relu(in.x()); }},
        {"relu_", [](I in) { return (in.x() * 2).relu_(); }},
        {"leaky_relu", [](I in) { return torch::leaky_relu(in.x()); }},
        {"elu", [](I in) { return torch::elu(in.x()); }},
        {"selu", [](I in) { return torch::selu(in.x()); }},
        {"gelu", [](I in) { return torch::gelu(in.x()); }},
        {"gelu, tanh", [](I in) { return torch::gelu(in.x(), "tanh"); }},
        {"silu", [](I in) { return torch::silu(in.x()); }},
        {"mish", [](I in) { return torch::mish(in.x()); }},
        {"hardtanh", [](I in) { return torch::hardtanh(in.x()); }},
        {"hardswish", [](I in) { return torch::hardswish(in.x()); }},
        {"hardsigmoid", [](I in) { return torch::hardsigmoid(in.x()); }},
        {"relu6", [](I in) { return torch::relu6(in.x()); }},
        {"softplus", [](I in) { return torch::softplus(in.x()); }},
        {"softsign", [](I in) { return F::softsign(in.x()); }},
        {"sigmoid", [](I in) { return torch::sigmoid(in.x()); }},
        {"tanh", [](I in) { return torch::tanh(in.x()); }},
        {"log_sigmoid", [](I in) { return torch::log_sigmoid(in.x()); }},
        {"glu", [](I in) { return torch::glu(in.x(), -1); }},
        {"prelu", [](I in) { return torch::prelu(in.x(), in.w({128})); }},
        {"prelu, one weight", [](I in) { return torch::prelu(in.x(), in.w({1})); }},
        {"exp", [](I in) { return torch::exp(in.x()); }},
        {"expm1", [](I in) { return torch::expm1(in.x()); }},
        {"log", [](I in) { return torch::log(in.x()); }},
        {"log1p", [](I in) { return torch::log1p(in.x()); }},
        {"sqrt", [](I in) { return torch::sqrt(in.x()); }},
        {"rsqrt", [](I in) { return torch::rsqrt(in.x()); }},
        {"reciprocal", [](I in) { return torch::reciprocal(in.x()); }},
        {"square", [](I in) { return torch::square(in.x()); }},
        {"pow 2", [](I in) { return in.x().pow(2); }},
        {"pow 3", [](I in) { return in.x().pow(3); }},
        {"pow of a tensor", [](I in) { return in.x().pow(in.x()); }},
        {"abs", [](I in) { return torch::abs(in.x()); }},
        {"sin", [](I in) { return torch::sin(in.x()); }},
        {"cos", [](I in) { return torch::cos(in.x()); }},
        {"erf", [](I in) { return torch::erf(in.x()); }},
        {"neg", [](I in) { return torch::neg(in.x()); }},
        {"clamp", [](I in) { return torch::clamp(in.x(), -1, 1); }},
        {"sign", [](I in) { return torch::sign(in.x()); }},
        {"add", [](I in) { return in.x() + in.x(); }},
        {"add of a scalar", [](I in) { return in.x() + 1; }},
        {"add of a row", [](I in) { return in.x() + in.w({256}); }},
        {"add of a column",
         [](I in) {
             return in.x() + in.w({128, 1});
         }},
        {"add of positions",
         [](I in) {
             return in.x() + in.w({1, 128, 256});
         }},
        {"add_ of another type",
         [](I in) {
             return (in.w({64, 128, 256}) * 2).add_(in.x());
         }},
        {"sub", [](I in) { return in.x() - in.x(); }},
        {"mul", [](I in) { return in.x() * in.x(); }},
        {"mul by a row", [](I in) { return in.x() * in.w({256}); }},
        {"mul by one number", [](I in) { return in.x() * in.w({1}); }},
        {"mul by itself",
         [](I in) {
             const torch::Tensor x = in.x();
             return x * x;
         }},
        {"div", [](I in) { return in.x() / in.x(); }},
        {"div by a row", [](I in) { return in.x() / in.w({256}); }},
        {"maximum", [](I in) { return torch::maximum(in.x(), in.x()); }},
        {"minimum", [](I in) { return torch::minimum(in.x(), in.x()); }},
        {"addcmul", [](I in) { return torch::addcmul(in.x(), in.x(), in.x()); }},
        {"addcdiv", [](I in) { return torch::addcdiv(in.x(), in.x(), in.x()); }},
        {"lerp", [](I in) { return torch::lerp(in.x(), in.x(), 0.5); }},
        {"atan2", [](I in) { return torch::atan2(in.x(), in.x()); }},
        {"where", [](I in) { return torch::where(in.mask(), in.x(), in.x()); }},
        {"where, a number", [](I in) { return torch::where(in.mask(), in.x(), 0.0); }},
        {"masked_fill", [](I in) { return in.x().masked_fill(in.mask(), 0); }},
        {"masked_fill_",
         [](I in) {
             return (in.x() * 2).masked_fill_(in.mask({64, 128, 1}), 0);
         }},
        {"comparison", [](I in) { return in.constant() > 0; }},
        {"logical and", [](I in) { return in.mask().logical_and(in.mask()); }},
        {"to fp32", [](I in) { return in.x().to(torch::kFloat); }},
        {"to bf16", [](I in) { return in.x().to(torch::kBFloat16); }},
        {"to double", [](I in) { return in.x().to(torch::kDouble); }},
        {"clone", [](I in) { return in.x().clone(); }},
        {"contiguous of a transpose", [](I in) { return in.x().transpose(1, 2).contiguous(); }},
        {"permute and reshape",
         [](I in) {
             return in.x().permute({1, 0, 2}).reshape({128, 64 * 256});
         }},
        {"dropout", [](I in) { return torch::dropout(in.x(), 0.1, true); }},
        {"dropout_",
         [](I in) {
             torch::Tensor x = in.x() * 2;
             return torch::dropout_(x, 0.1, true);
         }},
        {"dropout in evaluation", [](I in) { return torch::dropout(in.x(), 0.1, false); }},
        {"dropout of a transpose", [](I in) { return torch::dropout(in.x().transpose(1, 2), 0.1, true); }},
        {"feature_dropout", [](I in) { return torch::feature_dropout(in.x(), 0.1, true); }},
        {"alpha_dropout", [](I in) { return torch::alpha_dropout(in.x(), 0.1, true); }},
        {"bernoulli", [](I in) { return torch::bernoulli(in.constant()); }},
        {"rand_like", [](I in) { return torch::rand_like(in.constant()); }},
        {"randn_like", [](I in) { return torch::randn_like(in.constant()); }},
        {"softmax of rows", [](I in) { return torch::softmax(in.x(), -1); }},
        {"softmax of columns", [](I in) { return torch::softmax(in.x(), 1); }},
        {"softmax in fp32", [](I in) { return torch::softmax(in.x(), -1, torch::kFloat); }},
        {"log_softmax of rows", [](I in) { return torch::log_softmax(in.x(), -1); }},
        {"log_softmax of columns", [](I in) { return torch::log_softmax(in.x(), 1); }},
    };
}

}  // namespace gpu
