// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hpo/torch/model.hpp"

namespace hpo::torch {

/// A model for an evaluation of which only the names of its metrics count. Its first pass over examples of a shape is real. Later ones
/// repeat the outputs of one example.
class FewPasses final : public Model {
public:
    /// Thrown by a pass beyond the last: the evaluation is too long to be looked at. Inside torch/ only.
    struct Enough {};

    explicit FewPasses(Model& whole) : whole_{whole} {}

    [[nodiscard]] Outputs forward(const Batch& batch) override;

private:
    Model& whole_;
    int passes_ = 0;
    std::optional<Outputs> first_;  ///< of one example
    std::vector<std::int64_t> shape_;
};

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/few_passes_inl.hpp"
#endif
