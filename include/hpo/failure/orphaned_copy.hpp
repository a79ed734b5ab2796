// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace hpo {

/// The message of an attempt that ran in a copy of a program, and that hpo ended because the program had gone.
inline constexpr std::string_view orphaned_copy_message = "the program that calls optimize has ended, so hpo ended its copy";

}  // namespace hpo
