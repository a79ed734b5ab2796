// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hpo/torch/model.hpp"

namespace hpo::libtorch {

/// A model for an evaluation of which only the names of the metrics matter. Its first pass over examples of a shape is real. Later passes
/// repeat the outputs of one example.
class FewPasses final : public Model {
public:
    /// Thrown when the evaluation makes too many passes to be checked. Used inside torch/ only.
    struct Enough {};

    explicit FewPasses(Model& whole) : whole_{whole} {}

    [[nodiscard]] Outputs forward(const Batch& batch) override;
    /// The most examples of a pass so far.
    [[nodiscard]] std::int64_t most_examples() const { return most_examples_; }

private:
    Model& whole_;
    int passes_ = 0;
    std::int64_t most_examples_ = 0;
    std::optional<Outputs> first_;  ///< of one example
    std::vector<std::int64_t> shape_;
};

}  // namespace hpo::libtorch
