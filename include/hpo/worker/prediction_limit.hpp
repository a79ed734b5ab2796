// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace hpo::worker {

/// Whether a trainer's reason for no prediction is a limit of dry runs or probes themselves, about which nobody has to do anything:
/// LibTorch's, or that of numbers which are not there. Other reasons, such as shapes that do not fit, may be the model's own mistake.
[[nodiscard]] inline bool is_prediction_limit(std::string_view reason) {
    constexpr std::array<std::string_view, 9> limits{"only a probe",    " meta ",           " meta!",           "Meta",
                                                     "without numbers", "a dry run cannot", "in another order", "not grow evenly",
                                                     "is not measured"};
    return std::ranges::any_of(limits, [&](std::string_view words) { return reason.find(words) != std::string_view::npos; });
}

}  // namespace hpo::worker
