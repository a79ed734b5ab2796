// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/base/inline.hpp"
#include "hpo/core/param_set.hpp"

namespace hpo {

HPO_INLINE const Param* ParamSet::find(std::string_view name) const noexcept {
    for (const Param& param : params_) {
        if (param.name == name) return &param;
    }
    return nullptr;
}

HPO_INLINE std::optional<double> ParamSet::number(std::string_view name) const {
    const auto found = value(name);
    if (!found) return std::nullopt;
    if (const auto* real = get_if<double>(&*found)) return *real;
    if (const auto* whole = get_if<std::int64_t>(&*found)) return static_cast<double>(*whole);
    if (const auto* truth = get_if<bool>(&*found)) return *truth ? 1.0 : 0.0;
    return std::nullopt;
}

HPO_INLINE std::optional<std::int64_t> ParamSet::whole_number(std::string_view name) const {
    const auto found = value(name);
    const auto* const whole = found ? get_if<std::int64_t>(&*found) : nullptr;
    return whole ? std::optional{*whole} : std::nullopt;
}

HPO_INLINE void ParamSet::set(Param param) {
    for (Param& present : params_) {
        if (present.name == param.name) {
            present = std::move(param);
            return;
        }
    }
    params_.push_back(std::move(param));
}

HPO_INLINE std::string json_text(const ParamSet& params) {
    std::string text = "{";
    for (const Param& param : params) {
        if (text.size() > 1) text += ", ";
        text += json_quote(param.name) + ": " + json_text(param.value());
    }
    return text + "}";
}

}  // namespace hpo
