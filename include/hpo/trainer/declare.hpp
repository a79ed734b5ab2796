// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/core/value.hpp"
#include "hpo/trainer/parameter_range.hpp"
#include "hpo/trainer/parameter_type.hpp"
#include "hpo/trainer/trainer.hpp"

/// Declares parameters of a trainer by type: `declare::integer("width", 1, 512, {.standard = 32, .help = "units"})`. Each function fills in
/// the type and range of a TrainerParameter. Throws Error{plugin} with the name if the standard value is not allowed.
namespace hpo::declare {

/// The optional parts of a declaration, besides name and range.
template <class T>
struct Details {
    std::optional<T> standard{};  ///< used if the study does not set the parameter; nullopt: the study must set it
    std::string help{};
    MemoryUse memory = MemoryUse::value;
};

/// Which bounds of its range a real parameter may take.
enum class Bounds { both, low, high, neither };

namespace detail {

template <class T>
[[nodiscard]] TrainerParameter checked(TrainerParameter parameter, Details<T> details) {
    if (details.standard) parameter.standard = std::move(*details.standard);
    parameter.help = std::move(details.help);
    parameter.memory = details.memory;
    const ParameterType type = ParameterType::of(parameter);
    if (!parameter.standard.is_null() && !type.accepted(parameter.standard)) {
        throw Error{Errc::plugin, "parameter '" + parameter.name + "': its standard value is '" + display_text(parameter.standard) +
                                      "'; expected " + expected_of(parameter)};
    }
    return parameter;
}

}  // namespace detail

/// A whole number from `low` to `high`.
[[nodiscard]] inline TrainerParameter integer(std::string name, std::int64_t low, std::int64_t high, Details<std::int64_t> details = {}) {
    const std::string range = "[" + std::to_string(low) + ", " + std::to_string(high) + "]";
    return detail::checked({.name = std::move(name), .type = "int", .range = range}, std::move(details));
}

/// A number between two bounds, which may be infinite.
[[nodiscard]] inline TrainerParameter real(std::string name, double low, double high, Details<double> details = {},
                                           Bounds taken = Bounds::both) {
    const ParameterRange range{low, high, taken == Bounds::both || taken == Bounds::low, taken == Bounds::both || taken == Bounds::high};
    return detail::checked({.name = std::move(name), .type = "float", .range = range.text()}, std::move(details));
}

/// One of several texts. No text may contain ", ", because that separates the texts in the declaration.
[[nodiscard]] inline TrainerParameter choice(std::string name, const std::vector<std::string>& choices, Details<std::string> details = {}) {
    if (choices.empty()) throw Error{Errc::plugin, "parameter '" + name + "': no choices; expected one or more"};
    for (const std::string& each : choices) {
        if (each.empty() || each.find(", ") != std::string::npos)
            throw Error{Errc::plugin, "parameter '" + name + "': choice '" + each + "'; expected a text without ', '"};
    }
    return detail::checked({.name = std::move(name), .type = "one of " + join_names(choices)}, std::move(details));
}

[[nodiscard]] inline TrainerParameter truth(std::string name, Details<bool> details = {}) {
    return detail::checked({.name = std::move(name), .type = "bool"}, std::move(details));
}

[[nodiscard]] inline TrainerParameter text(std::string name, Details<std::string> details = {}) {
    return detail::checked({.name = std::move(name), .type = "text"}, std::move(details));
}

}  // namespace hpo::declare
