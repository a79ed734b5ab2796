// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/base/inline.hpp"
#include "hpo/base/plain_text.hpp"
#include "hpo/base/utf8.hpp"
#include "hpo/space/space_trial.hpp"

namespace hpo {

HPO_INLINE void require_parameter_name(std::string_view name) {
    if (name.empty()) throw bad_value("parameter", "an empty name", "a name");
    if (is_plain_text(name)) return;
    throw bad_value("parameter", "the name " + ascii_text(name.substr(0, 80)), "a name of UTF-8 characters without control characters");
}

HPO_INLINE void require_choices(std::string_view name, const std::vector<Value>& choices) {
    for (const Value& choice : choices) {
        const auto* const text = get_if<std::string>(&choice);
        if (!text || find_invalid_utf8(*text) == std::string_view::npos) continue;
        throw bad_value("parameter '" + std::string{name} + "'", "the choice " + ascii_text(std::string_view{*text}.substr(0, 80)),
                        "UTF-8");
    }
}

HPO_INLINE double SpaceTrial::suggest_float(const std::string& name, double low, double high, const FloatOptions& options) {
    Narrowing within;
    if (options.min) within.low = *options.min;
    if (options.max) within.high = *options.max;
    return draw(name, FloatDistribution{low, high, options.log, options.step}, within);
}

HPO_INLINE std::int64_t SpaceTrial::suggest_int(const std::string& name, std::int64_t low, std::int64_t high, const IntOptions& options) {
    Narrowing within;
    if (options.min) within.low = static_cast<double>(*options.min);
    if (options.max) within.high = static_cast<double>(*options.max);
    return static_cast<std::int64_t>(draw(name, IntDistribution{low, high, options.log, options.step}, within));
}

HPO_INLINE Value SpaceTrial::suggest_categorical(const std::string& name, std::vector<Value> choices, const CategoricalOptions& options) {
    require_choices(name, choices);
    const Distribution distribution = CategoricalDistribution{std::move(choices)};
    Narrowing within;
    if (options.only) {
        within.allowed.assign(get<CategoricalDistribution>(distribution).choices.size(), false);
        for (const Value& choice : *options.only) {
            const auto index = to_internal(distribution, choice);
            if (!index) throw bad_value("parameter '" + name + "'", display_text(choice) + " in its narrowing", describe(distribution));
            within.allowed[static_cast<std::size_t>(*index)] = true;
        }
    }
    return to_value(distribution, draw(name, distribution, within));
}

HPO_INLINE double SpaceTrial::draw(const std::string& name, Distribution distribution, const Narrowing& within) {
    const std::string place = "parameter '" + name + "'";
    require_parameter_name(name);
    distribution = checked(place, std::move(distribution));
    const auto known = index_.find(name);
    if (known != index_.end()) {
        const Param& present = *(params_.begin() + static_cast<std::ptrdiff_t>(known->second));
        if (*present.distribution != distribution) {
            throw bad_value(place,
                            "two distributions in one trial (" + describe(*present.distribution) + " and " + describe(distribution) + ")",
                            "one distribution for each name; narrow it with min, max or only");
        }
        return present.internal;
    }
    if (!narrowed(distribution, within)) {
        throw bad_value(place, "a narrowing that leaves no value of " + describe(distribution),
                        "min <= max, with at least one value between");
    }
    const double internal = source_.draw(name, distribution, within, params_);
    index_.emplace(name, params_.size());
    params_.append({name, std::make_shared<const Distribution>(std::move(distribution)), internal});
    return internal;
}

}  // namespace hpo
