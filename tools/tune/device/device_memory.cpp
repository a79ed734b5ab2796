// SPDX-License-Identifier: MIT
#include "tune/device/device_memory.hpp"

#include <algorithm>

#include "hpo/base/error.hpp"
#include "hpo/core/device_word.hpp"
#include "hpo/device/visible_cards.hpp"
#include "tune/display/cards.hpp"

namespace hpo::tune {

std::optional<std::int64_t> device_budget(const Settings& settings, std::string_view device) {
    const auto own = std::ranges::find_if(settings.devices(), [&](const DeviceWord& word) {
        return device.empty() || word.name == device || (device == "cpu" && is_cpu(word.name));
    });
    if (own != settings.devices().end() && own->bytes) return own->bytes;
    if (settings.fallback() && settings.fallback()->bytes && settings.fallback()->name == device) return settings.fallback()->bytes;
    const auto bytes = settings.bytes("device-memory");
    if (bytes && *bytes < ExecutionPlan::least_memory_bytes) {
        throw bad_value(settings.place("device-memory"), "'" + settings.text("device-memory") + "'",
                        "at least 1MiB: no model trains in less");
    }
    return bytes;
}

std::optional<std::int64_t> device_capacity(const Settings& settings, const std::string& device) {
    constexpr double usable = 0.98;  // the driver keeps 1 to 1.5 % of a card for itself
    if (auto given = device_budget(settings, device)) return given;
    const auto card = is_cpu(device) ? std::nullopt : card_of(device);
    if (!card || card->total_bytes <= 0) return std::nullopt;
    return static_cast<std::int64_t>(usable * static_cast<double>(card->total_bytes));
}

}  // namespace hpo::tune
