// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "hpo/base/error.hpp"

namespace hpo {

/// "1.5 GiB": two decimals above 1 KiB, as PyTorch's messages write sizes.
[[nodiscard]] std::string format_bytes(std::int64_t bytes);

/// Reads "600MiB", "1.5 GiB", "11GB", "4096", "1e9". Binary units end in iB, decimal ones in B, and a bare number is bytes. Returns nullopt
/// if the text is not a size, if it is negative, and if it is more than 2^62 bytes.
[[nodiscard]] std::optional<std::int64_t> parse_bytes(std::string_view text);

/// As parse_bytes, but throws an Error that names the place.
[[nodiscard]] std::int64_t require_bytes(std::string_view place, std::string_view text);

inline std::string format_bytes(std::int64_t bytes) {
    static constexpr std::array<const char*, 5> units{"bytes", "KiB", "MiB", "GiB", "TiB"};
    double value = std::fabs(static_cast<double>(bytes));
    std::size_t unit = 0;
    while (value >= 1024.0 && unit + 1 < units.size()) {
        value /= 1024.0;
        ++unit;
    }
    std::array<char, 64> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, unit == 0 ? 0 : 2);
    return (bytes < 0 ? "-" : "") + std::string{text.data(), end.ptr} + " " + units[unit];
}

inline std::optional<std::int64_t> parse_bytes(std::string_view text) {
    double value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc{}) return std::nullopt;
    std::string_view unit{end, static_cast<std::size_t>(text.data() + text.size() - end)};
    while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
    double scale = 1;
    if (!unit.empty() && unit != "B" && unit != "bytes") {
        static constexpr std::string_view prefixes = "KMGTP";
        const auto power = prefixes.find(unit.front() == 'k' ? 'K' : unit.front());
        if (power == std::string_view::npos) return std::nullopt;
        const std::string_view rest = unit.substr(1);
        if (rest == "iB" || rest == "i" || rest.empty()) scale = std::pow(1024.0, static_cast<double>(power + 1));
        else if (rest == "B") scale = std::pow(1000.0, static_cast<double>(power + 1));
        else return std::nullopt;
    }
    const double bytes = std::round(value * scale);
    if (!(bytes >= 0) || bytes > 0x1.0p62) return std::nullopt;
    return static_cast<std::int64_t>(bytes);
}

inline std::int64_t require_bytes(std::string_view place, std::string_view text) {
    if (const auto bytes = parse_bytes(text)) return *bytes;
    throw bad_value(place, "'" + std::string{text} + "'", "a size such as 600MiB, 1.5GiB, 11GB or a number of bytes, up to 2^62 of them");
}

}  // namespace hpo
