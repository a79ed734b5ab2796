// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/core/value.hpp"

namespace hpo {

/// A real interval [low, high], on a linear or a log scale, or on the grid low + k*step.
struct FloatDistribution {
    double low = 0;
    double high = 1;
    bool log = false;
    std::optional<double> step{};
    friend bool operator==(const FloatDistribution&, const FloatDistribution&) = default;
};

/// Whole numbers low, low + step, ..., high. A log scale needs low >= 1 and step 1.
struct IntDistribution {
    std::int64_t low = 0;
    std::int64_t high = 1;
    bool log = false;
    std::int64_t step = 1;
    friend bool operator==(const IntDistribution&, const IntDistribution&) = default;
};

/// One of an ordered list of choices.
struct CategoricalDistribution {
    std::vector<Value> choices;
    friend bool operator==(const CategoricalDistribution&, const CategoricalDistribution&) = default;
};

/// The set that a parameter's values are drawn from: one of the three above. Values are passed on in the *internal* representation, a
/// double: the number itself, or the index of a choice. It means the same as Optuna's distributions of the same names.
struct Distribution : std::variant<FloatDistribution, IntDistribution, CategoricalDistribution> {
    using variant::variant;

    friend bool operator==(const Distribution&, const Distribution&) = default;
};

/// Checks a distribution and lowers `high` to the last point of its grid. Throws bad_value with `place`.
[[nodiscard]] Distribution checked(std::string_view place, Distribution distribution);

/// True if only one value is possible, or a range is narrower than the least normal double, by which no model can divide.
[[nodiscard]] bool is_single(const Distribution& distribution);

/// True if `internal` is a value of the distribution. A stepped value may be up to 1e-8 steps from its grid point.
[[nodiscard]] bool contains(const Distribution& distribution, double internal);

/// The value that a person sees for an internal value. The distribution must contain it.
[[nodiscard]] Value to_value(const Distribution& distribution, double internal);

/// The internal value of what a person wrote. Returns nullopt if the distribution does not contain it. A whole number is accepted for a
/// real one, and a real number without a fraction for a whole one. Choices must match in type, but numbers are compared by value.
[[nodiscard]] std::optional<double> to_internal(const Distribution& distribution, const Value& value);
/// The same for a value as somebody wrote it. A text may be a number ("1e-3"), and a number, true or false may be the text of a choice.
[[nodiscard]] std::optional<double> to_internal_as_written(const Distribution& distribution, const Value& value);
/// As to_internal, but a number may lie outside of the range and between the steps, as Optuna takes what is enqueued. A truth value is 0
/// or 1, a text may be a number, and a whole number loses its fraction. Returns nullopt for one beyond 2^53, and on a log scale for one
/// that has no logarithm.
[[nodiscard]] std::optional<double> to_internal_unbounded(const Distribution& distribution, const Value& value);

/// True if a study may have both for one parameter. By Optuna's rule, the kind and the log scale must agree. Ranges of numbers may differ,
/// lists of choices may not.
[[nodiscard]] bool compatible(const Distribution& a, const Distribution& b);

/// "float [1e-05, 0.1] log", "int [8, 64] step 8", "one of 8, 16, 32".
[[nodiscard]] std::string describe(const Distribution& distribution);

inline Distribution checked(std::string_view place, Distribution distribution) {
    const auto refuse = [&](const std::string& got, const char* expected) { throw bad_value(place, got, expected); };
    if (auto* real = std::get_if<FloatDistribution>(&distribution)) {
        const std::string range = "low " + number_text(real->low) + ", high " + number_text(real->high);
        if (!std::isfinite(real->low) || !std::isfinite(real->high)) refuse(range, "finite bounds");
        if (real->low > real->high) refuse(range, "low <= high");
        if (!std::isfinite(real->high - real->low)) refuse(range, "high - low of at most 1.7e308");
        if (real->log && real->low <= 0) refuse(range + " on a log scale", "low > 0");
        if (real->step) {
            if (real->log) refuse("both log and step", "one of them");
            if (!(*real->step > 0) || !std::isfinite(*real->step)) refuse("step " + number_text(*real->step), "step > 0");
            const double steps = (real->high - real->low) / *real->step;
            if (!std::isfinite(steps)) refuse(range + ", step " + number_text(*real->step), "a larger step");
            // A `high` that differs from a grid point only by rounding stays as it was written.
            if (std::fabs(steps - std::round(steps)) >= 1e-8) real->high = real->low + std::floor(steps) * *real->step;
        }
    } else if (auto* whole = std::get_if<IntDistribution>(&distribution)) {
        const std::string range = "low " + std::to_string(whole->low) + ", high " + std::to_string(whole->high);
        if (whole->low > whole->high) refuse(range, "low <= high");
        if (whole->step < 1) refuse("step " + std::to_string(whole->step), "step >= 1");
        if (whole->log && whole->low < 1) refuse(range + " on a log scale", "low >= 1");
        if (whole->log && whole->step != 1) refuse("both log and step", "one of them");
        constexpr std::int64_t exact = std::int64_t{1} << 53;  // values travel as doubles
        if (whole->low < -exact || whole->high > exact) refuse(range, "bounds within +-2^53");
        whole->high = whole->low + (whole->high - whole->low) / whole->step * whole->step;
    } else if (std::get<CategoricalDistribution>(distribution).choices.empty()) {
        refuse("no choices", "at least one");
    }
    return distribution;
}

inline bool is_single(const Distribution& distribution) {
    if (const auto* real = std::get_if<FloatDistribution>(&distribution))
        return real->high - real->low < std::numeric_limits<double>::min();
    if (const auto* whole = std::get_if<IntDistribution>(&distribution)) return whole->low == whole->high;
    return std::get<CategoricalDistribution>(distribution).choices.size() == 1;
}

inline bool contains(const Distribution& distribution, double internal) {
    if (std::isnan(internal)) return false;
    if (const auto* real = std::get_if<FloatDistribution>(&distribution)) {
        if (internal < real->low || internal > real->high) return false;
        if (!real->step) return true;
        const double k = (internal - real->low) / *real->step;
        return std::fabs(k - std::round(k)) < 1e-8;
    }
    if (internal != std::floor(internal)) return false;
    if (const auto* whole = std::get_if<IntDistribution>(&distribution)) {
        if (internal < static_cast<double>(whole->low) || internal > static_cast<double>(whole->high)) return false;
        return (static_cast<std::int64_t>(internal) - whole->low) % whole->step == 0;
    }
    return internal >= 0 && internal < static_cast<double>(std::get<CategoricalDistribution>(distribution).choices.size());
}

inline Value to_value(const Distribution& distribution, double internal) {
    if (std::holds_alternative<FloatDistribution>(distribution)) return internal;
    if (std::holds_alternative<IntDistribution>(distribution)) return static_cast<std::int64_t>(internal);
    return std::get<CategoricalDistribution>(distribution).choices.at(static_cast<std::size_t>(internal));
}

inline std::optional<double> to_internal(const Distribution& distribution, const Value& value) {
    const auto number = [&]() -> std::optional<double> {
        if (const auto* real = std::get_if<double>(&value)) return *real;
        if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
        return std::nullopt;
    }();
    if (const auto* categorical = std::get_if<CategoricalDistribution>(&distribution)) {
        for (std::size_t i = 0; i < categorical->choices.size(); ++i) {
            const Value& choice = categorical->choices[i];
            bool same = choice == value;
            if (!same && number) {
                if (const auto* real = std::get_if<double>(&choice)) same = *real == *number;
                else if (const auto* whole = std::get_if<std::int64_t>(&choice)) same = static_cast<double>(*whole) == *number;
            }
            if (same) return static_cast<double>(i);
        }
        return std::nullopt;
    }
    if (!number || !contains(distribution, *number)) return std::nullopt;
    return number;
}

namespace detail {

/// The number that the whole text is ("1e-3"). Returns nullopt for any other text.
[[nodiscard]] inline std::optional<double> number_of_text(const std::string& text) {
    double number = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    return status == std::errc{} && end == text.data() + text.size() ? std::optional{number} : std::nullopt;
}

}  // namespace detail

inline std::optional<double> to_internal_as_written(const Distribution& distribution, const Value& value) {
    if (const auto internal = to_internal(distribution, value)) return internal;
    const std::string text = display_text(value);
    if (!std::holds_alternative<std::string>(value)) return to_internal(distribution, Value{text});
    const auto number = detail::number_of_text(text);
    return number ? to_internal(distribution, Value{*number}) : std::nullopt;
}

inline std::optional<double> to_internal_unbounded(const Distribution& distribution, const Value& value) {
    if (const auto internal = to_internal(distribution, value); internal || std::holds_alternative<CategoricalDistribution>(distribution))
        return internal;
    std::optional<double> number;
    if (const auto* const real = std::get_if<double>(&value)) number = *real;
    else if (const auto* const whole = std::get_if<std::int64_t>(&value)) number = static_cast<double>(*whole);
    else if (const auto* const truth = std::get_if<bool>(&value)) number = *truth ? 1 : 0;
    else if (const auto* const text = std::get_if<std::string>(&value)) number = detail::number_of_text(*text);
    if (!number || !std::isfinite(*number)) return std::nullopt;
    const auto* const whole = std::get_if<IntDistribution>(&distribution);
    constexpr double exact_whole = 9007199254740992;  // 2^53
    if (whole && std::abs(*number) > exact_whole) return std::nullopt;
    if (whole) number = std::trunc(*number);
    const bool is_log = whole ? whole->log : std::get<FloatDistribution>(distribution).log;
    return is_log && *number <= 0 ? std::nullopt : number;
}

inline bool compatible(const Distribution& a, const Distribution& b) {
    if (a.index() != b.index()) return false;
    if (const auto* real = std::get_if<FloatDistribution>(&a)) return real->log == std::get<FloatDistribution>(b).log;
    if (const auto* whole = std::get_if<IntDistribution>(&a)) return whole->log == std::get<IntDistribution>(b).log;
    return a == b;
}

inline std::string describe(const Distribution& distribution) {
    if (const auto* real = std::get_if<FloatDistribution>(&distribution)) {
        return "float [" + display_text(real->low) + ", " + display_text(real->high) + "]" + (real->log ? " log" : "") +
               (real->step ? " step " + display_text(*real->step) : "");
    }
    if (const auto* whole = std::get_if<IntDistribution>(&distribution)) {
        return "int [" + std::to_string(whole->low) + ", " + std::to_string(whole->high) + "]" + (whole->log ? " log" : "") +
               (whole->step != 1 ? " step " + std::to_string(whole->step) : "");
    }
    std::string text = "one of ";
    for (const Value& choice : std::get<CategoricalDistribution>(distribution).choices) {
        text += (text.size() > 7 ? ", " : "") + display_text(choice);
    }
    return text;
}

}  // namespace hpo
