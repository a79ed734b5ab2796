// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hpo::script {

/// The line on which a script sets a member of a table, such as {"plan", "micro_batch"}: the member `micro_batch` of the member `plan` of a
/// table that begins on `first_line`. If a member is not found, the line of the last one that is, else `first_line`.
/// Lua itself knows only the line on which the call with the table begins.
[[nodiscard]] int member_line(std::string_view source, int first_line, std::span<const std::string> members);

}  // namespace hpo::script
