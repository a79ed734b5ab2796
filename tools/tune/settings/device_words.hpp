// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hpo::tune {

/// One device as people write it: NAME or NAME=SIZE.
struct DeviceWord {
    std::string name;                     ///< "auto", "cpu", "cpu:1", "cuda", "cuda:1", "cuda:*"
    std::optional<std::int64_t> bytes{};  ///< how much of it trials may hold; nothing: as --device-memory says
};

/// Reads "cuda:0,cuda:1=20GiB". Throws Error{bad_value} for what is no device, and for a device that stands there twice. Whether the
/// machine has the devices is not looked at. `place` is for messages.
[[nodiscard]] std::vector<DeviceWord> parse_devices(const std::string& place, const std::string& text);

}  // namespace hpo::tune
