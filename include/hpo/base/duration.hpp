// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

namespace hpo {

/// What users may ask to wait or to run for: a year.
inline constexpr double longest_duration_seconds = 366.0 * 24 * 3600;

/// "2h", "90min", "1h30min", "45s", "500ms", or seconds. Returns nullopt for any other text.
[[nodiscard]] std::optional<double> parse_duration_seconds(std::string_view text);

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/base/impl/duration_inl.hpp"
#endif
