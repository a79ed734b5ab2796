// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "hpo/torch/model.hpp"

namespace hpo::libtorch {

/// Finds models whose outputs for an example depend on the other examples in its micro-batch. It compares a whole batch with its two
/// halves, without gradients. LibTorch's modules with dropout are taken out of training mode.
class MixedExamples {
public:
    explicit MixedExamples(Model& model) : model_{model} {}

    /// Whether a batch norm of LibTorch takes its statistics from the micro-batch in a forward pass. It also works if the model draws
    /// random numbers. It watches the running statistics, so it misses a batch norm that has none. share() may find that one.
    [[nodiscard]] bool has_batch_norm(const Batch& batch);

    /// How far the outputs change between the whole batch and its halves, as a share of the largest output. Returns nullopt if that is
    /// unknown: for fewer than four examples, or if the model draws random numbers outside of dropout.
    [[nodiscard]] std::optional<double> share(const Batch& batch);

private:
    static void leave_out_dropout(torch::nn::Module& module);
    /// For each batch norm, how many micro-batches its running statistics have seen.
    [[nodiscard]] std::vector<std::int64_t> batches_seen() const;
    [[nodiscard]] static Batch slice(const Batch& batch, std::int64_t begin, std::int64_t end);
    /// The outputs of the same examples, computed in two halves. Returns nullopt if the halves do not fit together.
    [[nodiscard]] std::optional<Outputs> in_halves(const Batch& batch, std::int64_t half, std::uint64_t seed);
    /// The outputs with LibTorch's generator set to this seed.
    [[nodiscard]] Outputs drawn(const Batch& batch, std::uint64_t seed) {
        torch::manual_seed(seed);
        return model_.forward(batch);
    }
    /// The largest difference, divided by the largest number. Returns nullopt for different shapes or types. Only fp32 and fp64 tensors
    /// count, since other types are too coarse.
    [[nodiscard]] static std::optional<double> difference(const Outputs& some, const Outputs& others);

    Model& model_;
};

}  // namespace hpo::libtorch
