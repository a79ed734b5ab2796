// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/value.hpp"
#include "hpo/trainer/parameter_range.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo {

/// The words of TrainerParameter::type, for messages.
inline constexpr std::string_view type_words = "int, float, bool, text, one of A, B, C";

/// What values a parameter takes: the type and range of a TrainerParameter, parsed.
struct ParameterType {
    enum class Kind { whole, real, truth, text, choice };

    Kind kind = Kind::text;
    std::vector<std::string> choices{};
    std::optional<ParameterRange> range{};  ///< nullopt: any number

    /// Throws Error{plugin} with the parameter's name if the type is unknown or the range cannot be read.
    [[nodiscard]] static ParameterType of(const TrainerParameter& parameter);

    [[nodiscard]] bool is_number() const { return kind == Kind::whole || kind == Kind::real; }

    /// The value in the parameter's own type. Returns nullopt if it is of another kind or outside the range.
    [[nodiscard]] std::optional<Value> accepted(const Value& value) const;

private:
    static ParameterType choice(std::string_view list);
    [[nodiscard]] bool has_choice(std::string_view text) const;
};

/// What values a parameter takes, in words: "a whole number in [1, 64]".
[[nodiscard]] std::string expected_of(const TrainerParameter& parameter);

}  // namespace hpo
