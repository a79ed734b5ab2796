// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hpo {

/// The numbers that a parameter may take, as TrainerParameter::range writes them: "[1, 64]", "(0, 1)", "[0, inf)". A square bracket
/// includes its bound, a round one does not.
struct ParameterRange {
    double low = 0;
    double high = 0;
    bool includes_low = true;
    bool includes_high = true;

    /// False for NaN.
    [[nodiscard]] bool contains(double number) const {
        return (includes_low ? number >= low : number > low) && (includes_high ? number <= high : number < high);
    }
    /// False if the range contains no number.
    [[nodiscard]] bool holds_any() const { return low < high || (low == high && includes_low && includes_high); }

    [[nodiscard]] std::string text() const;

    /// Returns nullopt if the text is no range, or if the range contains no number.
    [[nodiscard]] static std::optional<ParameterRange> parse(std::string_view text);

private:
    static std::optional<double> parse_bound(std::string_view text);
};

/// What a range must look like, for messages.
inline constexpr std::string_view range_grammar = "'[LOW, HIGH]' with ( or ) where a bound is not included, inf for no bound";

}  // namespace hpo
