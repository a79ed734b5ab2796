// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "support/json.hpp"
#include "support/text.hpp"
#include "tune/program/program_answer.hpp"

namespace hpo::tune {

/// A size that is enough, as people type it: with two decimals, never rounded down.
[[nodiscard]] std::string rounded_up(std::int64_t bytes);

/// Whether the program fits its card, and why not.
[[nodiscard]] std::string verdict(const ProgramAnswer& answer);

/// What is known of a program, for people. `top`: how many lines that hold memory.
void print_program(const tools::Page& page, const ProgramAnswer& answer, std::size_t top);

/// The same as JSON.
[[nodiscard]] tools::Json program_json(const ProgramAnswer& answer);

}  // namespace hpo::tune
