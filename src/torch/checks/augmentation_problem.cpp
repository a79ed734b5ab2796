// SPDX-License-Identifier: MIT
#include "torch/checks/augmentation_problem.hpp"

#include <torch/torch.h>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hpo/core/seed.hpp"
#include "hpo/torch/training/batch_checks.hpp"

namespace hpo::libtorch {

std::string AugmentationProblem::find(std::span<const std::int64_t> examples) const {
    const Batch first = batch_of(examples, 1);
    if (!same(first, batch_of(examples, 1))) {
        return "the same epoch and examples give another batch when asked again; expected random numbers from epoch.rng_of(example) "
               "alone";
    }
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const Batch batch = batch_of(examples, seed);
        if (const auto text = other_sizes(first, batch); !text.empty()) return text;
        if (examples.size() > 1 && !task_.mixes_examples() && !same_last(batch, batch_of(examples.last(1), seed))) {
            return "example " + std::to_string(examples.back()) + " is another one alone than after example " +
                   std::to_string(examples.front()) +
                   " in the same epoch; expected the examples in the order asked for, each by itself and with random numbers from "
                   "epoch.rng_of(example) alone, or mixes_examples() to return true";
        }
    }
    return {};
}

Batch AugmentationProblem::batch_of(std::span<const std::int64_t> examples, std::uint64_t seed) const {
    return task_.augmented_batch(examples, device_, Epoch{.number = 1, .seed = Seed{1}.derive(seed)});
}

std::vector<torch::Tensor> AugmentationProblem::tensors(const Batch& batch) {
    std::vector<torch::Tensor> all = batch.inputs;
    all.push_back(batch.targets);
    return all;
}

bool AugmentationProblem::same(const Batch& some, const Batch& others) {
    const auto a = tensors(some);
    const auto b = tensors(others);
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i].scalar_type() != b[i].scalar_type() || a[i].sizes() != b[i].sizes()) return false;
        const bool equal = a[i].is_floating_point() ? a[i].eq(b[i]).logical_or(a[i].isnan().logical_and(b[i].isnan())).all().item<bool>()
                                                    : a[i].equal(b[i]);
        if (!equal) return false;
    }
    return true;
}

std::string AugmentationProblem::other_sizes(const Batch& first, const Batch& other) {
    const std::string expected = "; expected sizes that do not depend on what is drawn";
    const auto a = tensors(first);
    const auto b = tensors(other);
    if (a.size() != b.size()) {
        return "the same examples are " + std::to_string(a.size() - 1) + " inputs under one seed and " + std::to_string(b.size() - 1) +
               " under another" + expected;
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i].sizes() == b[i].sizes()) continue;
        return (i < first.inputs.size() ? "input " + std::to_string(i) : "targets") + " of the same examples has shape " +
               shape_text(a[i]) + " under one seed and " + shape_text(b[i]) + " under another" + expected;
    }
    return {};
}

bool AugmentationProblem::same_last(const Batch& batch, const Batch& alone) {
    const auto a = tensors(batch);
    const auto b = tensors(alone);
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
        const torch::Tensor last = a[i].slice(0, a[i].size(0) - 1);
        if (last.sizes() != b[i].sizes() || last.scalar_type() != b[i].scalar_type() || last.numel() == 0) continue;
        const torch::Tensor numbers = last.to(torch::kDouble).nan_to_num();
        const torch::Tensor others = b[i].to(torch::kDouble).nan_to_num();
        const double tolerance = last.is_floating_point()             ? 1e-4 * numbers.abs().max().item<double>()
                                 : last.scalar_type() == torch::kByte ? 1
                                                                      : 0;
        if ((numbers - others).abs().max().item<double>() > tolerance) return false;
    }
    return true;
}

}  // namespace hpo::libtorch
