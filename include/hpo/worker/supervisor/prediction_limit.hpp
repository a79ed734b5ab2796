// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace hpo::worker {

/// True if a trainer's reason for no prediction is a limit of dry runs or probes: a limit of LibTorch, or a model that reads numbers, which
/// a dry run does not have. No action is needed. Other reasons may be the model's own mistake, such as shapes that do not fit.
[[nodiscard]] inline bool is_prediction_limit(std::string_view reason) {
    constexpr std::array<std::string_view, 9> limits{"only a probe",    " meta ",           " meta!",           "Meta",
                                                     "without numbers", "a dry run cannot", "in another order", "not grow evenly",
                                                     "is not measured"};
    return std::ranges::any_of(limits, [&](std::string_view words) { return reason.find(words) != std::string_view::npos; });
}

}  // namespace hpo::worker
