// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tune/settings/settings.hpp"

namespace hpo::tune {

/// The memory that the settings give to the first device, or to `device`, checked. Returns nullopt if it is not limited.
[[nodiscard]] std::optional<std::int64_t> device_budget(const Settings& settings, std::string_view device = {});

/// What all trials together may have of a device: the settings' device memory, else what a GPU has. Returns nullopt if it is not known.
[[nodiscard]] std::optional<std::int64_t> device_capacity(const Settings& settings, const std::string& device);

}  // namespace hpo::tune
