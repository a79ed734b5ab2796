// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hpo/device/nvidia_device.hpp"

namespace hpo::tune {

/// The cards that workers see: the one at N is "cuda:N" (device/visible_cards.hpp).
[[nodiscard]] std::vector<device::NvidiaDevice> visible_cards();

/// The one that workers for `device` train on; "cuda" is the first. Nothing where there is no such card.
[[nodiscard]] std::optional<device::NvidiaDevice> card_of(const std::string& device);

/// Why there are fewer of them than the driver has, or none, in words.
[[nodiscard]] std::string missing_cards();

}  // namespace hpo::tune
