// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
///
/// Design note: this is no std::variant, for the reason given at Value. It has space for all three kinds, because distributions are few and
/// shared.
class Distribution {
public:
    enum class Kind : unsigned char { real, whole, categorical };

    Distribution() = default;
    Distribution(FloatDistribution real) noexcept : real_{real} {}
    Distribution(IntDistribution whole) noexcept : kind_{Kind::whole}, whole_{whole} {}
    Distribution(CategoricalDistribution categorical) noexcept : kind_{Kind::categorical}, categorical_{std::move(categorical)} {}

    [[nodiscard]] Kind kind() const noexcept { return kind_; }

    /// The distribution as a FloatDistribution, IntDistribution or CategoricalDistribution. Returns nullptr if it is of another kind.
    template <class T>
    [[nodiscard]] friend const T* get_if(const Distribution* distribution) noexcept {
        if constexpr (std::same_as<T, FloatDistribution>) return distribution->kind_ == Kind::real ? &distribution->real_ : nullptr;
        else if constexpr (std::same_as<T, IntDistribution>) return distribution->kind_ == Kind::whole ? &distribution->whole_ : nullptr;
        else return distribution->kind_ == Kind::categorical ? &static_cast<const T&>(distribution->categorical_) : nullptr;
    }
    template <class T>
    [[nodiscard]] friend T* get_if(Distribution* distribution) noexcept {
        return const_cast<T*>(  // NOLINT(cppcoreguidelines-pro-type-const-cast): the object is not const
            get_if<T>(static_cast<const Distribution*>(distribution)));
    }

    friend bool operator==(const Distribution&, const Distribution&) = default;

private:
    Kind kind_ = Kind::real;
    FloatDistribution real_{};
    IntDistribution whole_{};
    CategoricalDistribution categorical_{};
};

template <class T>
[[nodiscard]] const T* get_if(const Distribution* distribution) noexcept;
template <class T>
[[nodiscard]] T* get_if(Distribution* distribution) noexcept;

/// Checks a distribution and lowers `high` to the last point of its grid. Throws bad_value with `place`.
[[nodiscard]] Distribution checked(std::string_view place, Distribution distribution);

/// True if only one value is possible.
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

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/core/impl/distribution_inl.hpp"
#endif
