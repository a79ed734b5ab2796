// SPDX-License-Identifier: MIT
#include "script/durations.hpp"

#include <cstdint>
#include <optional>
#include <string>

#include "hpo/base/duration.hpp"
#include "hpo/core/value.hpp"
#include "hpo/script/lua_value.hpp"

namespace hpo::script {

double require_duration(lua_State* L, const std::string& place) {
    const auto value = to_value(L, -1);
    std::optional<double> seconds;
    if (value) {
        if (const auto* const text = std::get_if<std::string>(&*value)) seconds = parse_duration_seconds(*text);
        else if (const auto* const number = std::get_if<double>(&*value)) seconds = *number;
        else if (const auto* const whole = std::get_if<std::int64_t>(&*value)) seconds = static_cast<double>(*whole);
    }
    const std::string shown = value ? clipped(display_text(*value)) : type_text(L, -1);
    if (!seconds || !(*seconds > 0)) raise(L, place + ": got " + shown + "; expected a duration above 0, such as \"10min\", or seconds");
    if (*seconds > longest_duration_seconds) raise(L, place + ": got " + shown + "; expected at most a year");
    return *seconds;
}

int seconds(lua_State* L) {
    lua_settop(L, 1);
    lua_pushnumber(L, require_duration(L, "hpo.seconds"));
    return 1;
}

}  // namespace hpo::script
