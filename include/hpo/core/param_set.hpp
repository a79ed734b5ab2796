// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/core/distribution.hpp"

namespace hpo {

/// One parameter's value and the distribution that it was drawn from.
struct Param {
    std::string name;
    std::shared_ptr<const Distribution> distribution;  ///< never null; shared between trials, before any narrowing
    double internal = 0;                               ///< the number, or the index of the choice

    [[nodiscard]] Value value() const { return to_value(*distribution, internal); }
};

/// What a program may read a parameter as.
template <class T>
concept ParamType = std::floating_point<T> || std::integral<T> || std::same_as<T, std::string> || std::same_as<T, Value>;

/// A trial's parameters, in the order in which they were asked for. These are what the study searches. How the trial runs is in the
/// ExecutionPlan (core/plan.hpp).
class ParamSet {
public:
    [[nodiscard]] const Param* find(std::string_view name) const noexcept;
    /// As `find`, but looks at position `expected` first: most trials have their parameters in the same order.
    [[nodiscard]] const Param* find(std::string_view name, std::size_t expected) const noexcept {
        return expected < params_.size() && params_[expected].name == name ? &params_[expected] : find(name);
    }
    /// The value of a parameter that every trial has: `get<double>("lr")`, `get<int>("layers")`, `get<std::string>("model")`. A number type
    /// reads what `number` and `whole_number` read. Throws unknown_name if the trial has no such parameter, and names those that it has.
    /// Throws bad_value if its value is no T. For a parameter that only some trials have there are `value`, `number` and `whole_number`.
    template <ParamType T>
    [[nodiscard]] T get(std::string_view name) const;
    [[nodiscard]] std::optional<Value> value(std::string_view name) const {
        const Param* param = find(name);
        return param ? std::optional{param->value()} : std::nullopt;
    }
    /// The parameter as a number; truth values are 0 and 1. Returns nullopt if it is absent or a text.
    [[nodiscard]] std::optional<double> number(std::string_view name) const;
    /// The value of an int parameter, or of a categorical one whose value is a whole number. Returns nullopt for any other, and if there is
    /// none of that name.
    [[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view name) const;
    /// Adds a parameter, or replaces its value if it is already there.
    void set(Param param);
    /// Reserves space for `count` parameters in all.
    void reserve(std::size_t count) { params_.reserve(count); }
    /// Adds a parameter that must not be there yet. Does not check this.
    void append(Param param) { params_.push_back(std::move(param)); }
    void set(std::string name, Distribution distribution, double internal) {
        set(Param{std::move(name), std::make_shared<const Distribution>(std::move(distribution)), internal});
    }
    [[nodiscard]] bool empty() const noexcept { return params_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return params_.size(); }
    [[nodiscard]] auto begin() const noexcept { return params_.begin(); }
    [[nodiscard]] auto end() const noexcept { return params_.end(); }

    /// Equal names in the same order, with equal values and equal distributions.
    friend bool operator==(const ParamSet& a, const ParamSet& b) {
        if (a.size() != b.size()) return false;
        for (std::size_t i = 0; i < a.size(); ++i) {
            const Param& x = a.params_[i];
            const Param& y = b.params_[i];
            if (x.name != y.name || x.internal != y.internal) return false;
            if (x.distribution != y.distribution && *x.distribution != *y.distribution) return false;
        }
        return true;
    }

private:
    std::vector<Param> params_;
};

/// {"x": 0.5, "model": "base"}
[[nodiscard]] std::string json_text(const ParamSet& params);

inline const Param* ParamSet::find(std::string_view name) const noexcept {
    for (const Param& param : params_) {
        if (param.name == name) return &param;
    }
    return nullptr;
}

template <ParamType T>
T ParamSet::get(std::string_view name) const {
    const auto found = value(name);
    if (!found) {
        std::vector<std::string> known;
        for (const Param& param : params_) known.push_back(param.name);
        throw unknown_name("", "parameter", name, known);
    }
    const auto wrong = [&](std::string_view expected) {
        return bad_value("parameter '" + std::string{name} + "'", display_text(*found), expected);
    };
    if constexpr (std::same_as<T, Value>) {
        return *found;
    } else if constexpr (std::same_as<T, bool> || std::same_as<T, std::string>) {
        if (const T* const as_is = std::get_if<T>(&*found)) return *as_is;
        throw wrong(std::same_as<T, bool> ? "true or false" : "a text");
    } else if constexpr (std::floating_point<T>) {
        if (const auto real = number(name)) return static_cast<T>(*real);
        throw wrong("a number");
    } else {
        const auto whole = whole_number(name);
        if (!whole) throw wrong("a whole number");
        const T fitting = static_cast<T>(*whole);
        if (static_cast<std::int64_t>(fitting) == *whole && (fitting < T{0}) == (*whole < 0)) return fitting;
        throw wrong("a whole number that fits into " + std::to_string(8 * sizeof(T)) + " bits" +
                    (std::is_signed_v<T> ? "" : ", 0 or more"));
    }
}

inline std::optional<double> ParamSet::number(std::string_view name) const {
    const auto found = value(name);
    return found ? as_number(*found) : std::nullopt;
}

inline std::optional<std::int64_t> ParamSet::whole_number(std::string_view name) const {
    const auto found = value(name);
    const auto* const whole = found ? std::get_if<std::int64_t>(&*found) : nullptr;
    return whole ? std::optional{*whole} : std::nullopt;
}

inline void ParamSet::set(Param param) {
    for (Param& present : params_) {
        if (present.name == param.name) {
            present = std::move(param);
            return;
        }
    }
    params_.push_back(std::move(param));
}

inline std::string json_text(const ParamSet& params) {
    std::string text = "{";
    for (const Param& param : params) {
        if (text.size() > 1) text += ", ";
        text += json_quote(param.name) + ": " + json_text(param.value());
    }
    return text + "}";
}

}  // namespace hpo
