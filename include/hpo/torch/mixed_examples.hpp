// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "hpo/torch/model.hpp"

namespace hpo::torch {

/// How far the outputs of examples change where other examples are in their micro-batch, as a share of the largest output. The batch is
/// held against its two halves, without gradients. Nullopt where that cannot be told: of fewer than four examples, and where the model
/// draws random numbers elsewhere than in dropout: batch norm is found there all the same. Takes LibTorch's modules with dropout out of
/// training mode.
class MixedExamples {
public:
    explicit MixedExamples(Model& model) : model_{model} {}

    /// Whether a module of LibTorch's batch norm takes its statistics from the micro-batch in a forward pass, whatever else is random. Seen
    /// by its running statistics: one without is left to share().
    [[nodiscard]] bool has_batch_norm(const Batch& batch);

    [[nodiscard]] std::optional<double> share(const Batch& batch);

private:
    static void leave_out_dropout(::torch::nn::Module& module);
    /// How many micro-batches the running statistics of each batch norm have seen.
    [[nodiscard]] std::vector<std::int64_t> batches_seen() const;
    [[nodiscard]] static Batch slice(const Batch& batch, std::int64_t begin, std::int64_t end);
    /// The same examples' outputs, computed in two halves; nullopt where they have no rows.
    [[nodiscard]] std::optional<Outputs> in_halves(const Batch& batch, std::int64_t half, std::uint64_t seed);
    /// The outputs after this seed.
    [[nodiscard]] Outputs drawn(const Batch& batch, std::uint64_t seed) {
        ::torch::manual_seed(seed);
        return model_.forward(batch);
    }
    /// The largest, as a share of the largest number; nullopt for other shapes. Only fp32 and fp64 are exact enough to count.
    [[nodiscard]] static std::optional<double> difference(const Outputs& some, const Outputs& others);

    Model& model_;
};

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/mixed_examples_inl.hpp"
#endif
