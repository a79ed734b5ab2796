// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/json.hpp"
#include "support/text.hpp"
#include "tune/program/program_answer.hpp"

namespace hpo::tune {

/// A size that is enough, as people type it: with two decimals, never rounded down.
[[nodiscard]] std::string rounded_up(std::int64_t bytes);

/// What is known of a program, for people. `top`: how many lines that hold memory.
void print_program(const tools::Page& page, const ProgramAnswer& answer, std::size_t top);

/// The same as JSON.
[[nodiscard]] tools::Json program_json(const ProgramAnswer& answer);

/// One value of --per.
struct PerValue {
    std::string value;
    std::optional<ProgramAnswer> answer;  ///< nullopt: nothing is known
    std::string error;                    ///< why
};

/// The last value that fits; nullptr: none does. Numbers go by their size, other values as they were given.
[[nodiscard]] const PerValue* largest_that_fits(const std::vector<PerValue>& rows);

void print_per(const tools::Page& page, const ProgramRun& run, const std::string& name, const std::vector<PerValue>& rows);

}  // namespace hpo::tune
