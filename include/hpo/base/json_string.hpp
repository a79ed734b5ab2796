// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hpo {

/// The text of a JSON string literal. Returns nullopt if `json` is not one.
[[nodiscard]] std::optional<std::string> json_string(std::string_view json);

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/base/impl/json_string_inl.hpp"
#endif
