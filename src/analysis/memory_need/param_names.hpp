// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace hpo::analysis {

/// "batch_size" of "train.batch_size".
[[nodiscard]] inline std::string_view last_part(std::string_view name) {
    const auto dot = name.find_last_of("./");
    return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

/// True for seeds: parameters that make runs differ without a meaning.
[[nodiscard]] inline bool is_seed(std::string_view name) {
    const std::string_view last = last_part(name);
    return last == "seed" || last == "random_state" || last == "random_seed";
}

/// True for parameters that a trial's memory cannot depend on, by their usual names: seeds, learning rates and schedules, regularisation
/// strengths, lengths of training. Such a parameter is never named as the cause of an out-of-memory.
[[nodiscard]] bool is_memory_neutral(std::string_view name);

}  // namespace hpo::analysis
