// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "support/text.hpp"

namespace hpo::analyze {

/// Prints the last lines of what an attempt wrote, and where the others are; nothing for an empty text.
void print_log(const hpo::tools::Page& page, std::string_view text);

}  // namespace hpo::analyze
