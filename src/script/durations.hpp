// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "hpo/script/lua_state.hpp"

namespace hpo::script {

/// The seconds of the duration at the top of the stack: a text such as "10min", or seconds. Raises an error with `place` for anything else,
/// for 0 and less, and above a year.
[[nodiscard]] double require_duration(lua_State* L, const std::string& place);

/// The function hpo.seconds of scripts: `hpo.seconds "10min"` is 600.
int seconds(lua_State* L);

}  // namespace hpo::script
