// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace hpo::device {

/// The value of a key in the figures of a virtual card, such as "name=T4;capability=75;memory=15629156352". Empty if the key is not there.
[[nodiscard]] constexpr std::string_view card_figure(std::string_view figures, std::string_view key) noexcept {
    while (!figures.empty()) {
        const std::string_view entry = figures.substr(0, figures.find(';'));
        if (entry.size() > key.size() && entry.starts_with(key) && entry[key.size()] == '=') return entry.substr(key.size() + 1);
        figures.remove_prefix(entry.size() < figures.size() ? entry.size() + 1 : entry.size());
    }
    return {};
}

/// The same as a whole number. `otherwise` if the key is not there, or has no number.
[[nodiscard]] inline std::int64_t card_figure_number(std::string_view figures, std::string_view key, std::int64_t otherwise = 0) noexcept {
    const std::string_view text = card_figure(figures, key);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size() && !text.empty() ? number : otherwise;
}

}  // namespace hpo::device
