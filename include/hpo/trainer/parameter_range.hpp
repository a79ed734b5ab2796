// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "hpo/core/value.hpp"

namespace hpo {

/// The numbers that a parameter may take, as TrainerParameter::range writes them: "[1, 64]", "(0, 1)", "[0, inf)". A square bracket
/// includes its bound, a round one does not.
struct ParameterRange {
    double low = 0;
    double high = 0;
    bool includes_low = true;
    bool includes_high = true;

    /// NaN lies in none.
    [[nodiscard]] bool contains(double number) const {
        return (includes_low ? number >= low : number > low) && (includes_high ? number <= high : number < high);
    }
    /// False where no number lies in it.
    [[nodiscard]] bool holds_any() const { return low < high || (low == high && includes_low && includes_high); }

    [[nodiscard]] std::string text() const {
        const auto bound = [](double value) {
            if (std::isinf(value)) return std::string{value > 0 ? "inf" : "-inf"};
            std::string number = number_text(value);
            if (number.ends_with(".0")) number.resize(number.size() - 2);
            return number;
        };
        return (includes_low ? "[" : "(") + bound(low) + ", " + bound(high) + (includes_high ? "]" : ")");
    }

    /// Nothing for a text that is no range, or one without a number in it.
    [[nodiscard]] static std::optional<ParameterRange> parse(std::string_view text) {
        const auto comma = text.find(',');
        if (text.size() < 5 || comma == std::string_view::npos) return std::nullopt;
        const bool brackets = (text.front() == '[' || text.front() == '(') && (text.back() == ']' || text.back() == ')');
        const auto low = parse_bound(text.substr(1, comma - 1));
        const auto high = parse_bound(text.substr(comma + 1, text.size() - comma - 2));
        if (!brackets || !low || !high) return std::nullopt;
        const ParameterRange range{*low, *high, text.front() == '[', text.back() == ']'};
        return range.holds_any() ? std::optional{range} : std::nullopt;
    }

private:
    static std::optional<double> parse_bound(std::string_view text) {
        while (text.starts_with(' ')) text.remove_prefix(1);
        double value = 0;
        const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (status != std::errc{} || end != text.data() + text.size() || std::isnan(value)) return std::nullopt;
        return value;
    }
};

/// What a range must look like, for messages.
inline constexpr std::string_view range_grammar = "'[LOW, HIGH]' with ( or ) where a bound is not included, inf for no bound";

}  // namespace hpo
