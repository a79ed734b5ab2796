// SPDX-License-Identifier: MIT
#include "hpo/trainer/parameter_range.hpp"

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "hpo/core/value.hpp"

namespace hpo {

std::string ParameterRange::text() const {
    const auto bound = [](double value) {
        if (std::isinf(value)) return std::string{value > 0 ? "inf" : "-inf"};
        std::string number = number_text(value);
        if (number.ends_with(".0")) number.resize(number.size() - 2);
        return number;
    };
    return (includes_low ? "[" : "(") + bound(low) + ", " + bound(high) + (includes_high ? "]" : ")");
}

std::optional<ParameterRange> ParameterRange::parse(std::string_view text) {
    const auto comma = text.find(',');
    if (text.size() < 5 || comma == std::string_view::npos) return std::nullopt;
    const bool brackets = (text.front() == '[' || text.front() == '(') && (text.back() == ']' || text.back() == ')');
    const auto low = parse_bound(text.substr(1, comma - 1));
    const auto high = parse_bound(text.substr(comma + 1, text.size() - comma - 2));
    if (!brackets || !low || !high) return std::nullopt;
    const ParameterRange range{*low, *high, text.front() == '[', text.back() == ']'};
    return range.holds_any() ? std::optional{range} : std::nullopt;
}

std::optional<double> ParameterRange::parse_bound(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    double value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc{} || end != text.data() + text.size() || std::isnan(value)) return std::nullopt;
    return value;
}

}  // namespace hpo
