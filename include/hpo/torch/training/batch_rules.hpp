// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

namespace hpo::libtorch {

/// What every batch of a training must be. A batch that is not is refused before a model sees it (training/batch_checks.hpp).
struct BatchRules {
    std::optional<std::int64_t> classes{};        ///< for a classifier: labels lie in [0, classes)
    std::optional<std::int64_t> ignored_label{};  ///< one more label that is allowed, such as the ignore_index -100 of cross_entropy
    bool labels_of_positions = false;             ///< an example has a label for each of its tokens or pixels, and not only one
    std::optional<std::int64_t> vocabulary{};     ///< rows of an embedding: the first input holds ids in [0, vocabulary)
    bool finite_inputs = true;                    ///< no input holds NaN or infinity. A mask with -infinity breaks this rule
    bool same_shapes = true;                      ///< batches differ in the number of examples only, and not in their examples' shape
};

}  // namespace hpo::libtorch
