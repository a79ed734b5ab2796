// SPDX-License-Identifier: MIT
#include "torch/training/finish_gradients.hpp"

#include <torch/torch.h>
#include <cmath>
#include <vector>

#include "hpo/core/value.hpp"
#include "hpo/torch/recording/value_reads.hpp"
#include "hpo/torch/training/batch_checks.hpp"

namespace hpo::libtorch {

double gradient_norm(Optimizer& optimizer) {
    std::vector<torch::Tensor> norms;
    optimizer.each_gradient([&](const torch::Tensor& gradient) { norms.push_back(gradient.norm()); });
    const HarmlessReads of_the_norm;
    return norms.empty() ? 0 : torch::stack(norms).norm().item<double>();
}

bool finish_gradients(Optimizer& optimizer, LossScale& scale, double clip_norm) {
    if (!scale.scales() && clip_norm == 0) return true;
    const torch::NoGradGuard no_gradients;
    const double norm = gradient_norm(optimizer) / scale.factor();
    if (!std::isfinite(norm)) {
        if (!scale.scales()) throw NonFiniteLoss{"the norm of the gradients is " + number_text(norm)};
        scale.shrink();
        return false;
    }
    const double clipped = clip_norm > 0 && norm > clip_norm ? clip_norm / norm : 1;
    if (const double factor = clipped / scale.factor(); factor != 1)
        optimizer.each_gradient([&](torch::Tensor& gradient) { gradient.mul_(factor); });
    scale.grow();
    return true;
}

}  // namespace hpo::libtorch
