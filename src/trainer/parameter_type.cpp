// SPDX-License-Identifier: MIT
#include "hpo/trainer/parameter_type.hpp"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/base/error.hpp"

namespace hpo {

ParameterType ParameterType::of(const TrainerParameter& parameter) {
    const auto refuse = [&](const std::string& what, std::string_view expected) {
        throw Error{Errc::plugin, "parameter '" + parameter.name + "': " + what + "; expected " + std::string{expected}};
    };
    static constexpr std::string_view one_of = "one of ";
    const std::string& word = parameter.type;
    ParameterType type;
    if (word == "int") type.kind = Kind::whole;
    else if (word == "float") type.kind = Kind::real;
    else if (word == "bool") type.kind = Kind::truth;
    else if (word.starts_with(one_of)) type = choice(std::string_view{word}.substr(one_of.size()));
    else if (word != "text") refuse("unknown type '" + word + "'", type_words);
    if (parameter.range.empty()) return type;
    type.range = ParameterRange::parse(parameter.range);
    if (!type.range) refuse("range '" + parameter.range + "' cannot be read", range_grammar);
    if (!type.is_number()) refuse("range '" + parameter.range + "' of a parameter of type '" + word + "'", "a range of numbers alone");
    return type;
}

std::optional<Value> ParameterType::accepted(const Value& value) const {
    if (kind == Kind::truth) return std::holds_alternative<bool>(value) ? std::optional{value} : std::nullopt;
    if (!is_number()) {
        const auto* text = std::get_if<std::string>(&value);
        return text && (kind == Kind::text || has_choice(*text)) ? std::optional{value} : std::nullopt;
    }
    double number = 0;
    if (const auto* whole = std::get_if<std::int64_t>(&value)) number = static_cast<double>(*whole);
    else if (const auto* real = std::get_if<double>(&value)) number = *real;
    else return std::nullopt;
    if (range ? !range->contains(number) : std::isnan(number)) return std::nullopt;
    if (kind == Kind::real) return Value{number};
    if (number != std::floor(number) || std::fabs(number) > 0x1.0p53) return std::nullopt;
    return Value{static_cast<std::int64_t>(number)};
}

ParameterType ParameterType::choice(std::string_view list) {
    ParameterType type{.kind = Kind::choice};
    while (true) {
        const auto comma = list.find(", ");
        type.choices.emplace_back(list.substr(0, comma));
        if (comma == std::string_view::npos) return type;
        list.remove_prefix(comma + 2);
    }
}

bool ParameterType::has_choice(std::string_view text) const {
    for (const std::string& each : choices) {
        if (each == text) return true;
    }
    return false;
}

std::string expected_of(const TrainerParameter& parameter) {
    const std::string kind = parameter.type == "int"     ? "a whole number"
                             : parameter.type == "float" ? "a number"
                             : parameter.type == "bool"  ? "true or false"
                             : parameter.type == "text"  ? "a text"
                                                         : parameter.type;
    return parameter.range.empty() ? kind : kind + " in " + parameter.range;
}

}  // namespace hpo
