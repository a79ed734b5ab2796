// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace hpo {

/// What users may ask to wait or to run for: a year.
inline constexpr double longest_duration_seconds = 366.0 * 24 * 3600;

/// "2h", "90min", "1h30min", "45s", "500ms", or seconds. Returns nullopt for any other text.
[[nodiscard]] std::optional<double> parse_duration_seconds(std::string_view text);

inline std::optional<double> parse_duration_seconds(std::string_view text) {
    double seconds = 0;
    if (text.empty()) return std::nullopt;
    while (!text.empty()) {
        double value = 0;
        const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
        if (status != std::errc{} || value < 0) return std::nullopt;
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        const auto letters = std::min(text.find_first_not_of("hmins"), text.size());
        const std::string_view unit = text.substr(0, letters);
        text.remove_prefix(letters);
        if (unit == "h") seconds += value * 3600;
        else if (unit == "min" || unit == "m") seconds += value * 60;
        else if (unit == "s" || unit.empty()) seconds += value;
        else if (unit == "ms") seconds += value / 1000;
        else return std::nullopt;
        if (unit.empty() && !text.empty()) return std::nullopt;
    }
    if (seconds > 1e12) return std::nullopt;
    return seconds;
}

}  // namespace hpo
