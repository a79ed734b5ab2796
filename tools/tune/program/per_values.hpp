// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/text.hpp"
#include "tune/program/program_answer.hpp"

namespace hpo::tune {

/// What --per says: "NAME=8,16,32".
struct PerOption {
    std::string name;
    std::vector<std::string> values;
};

/// Throws Error for another text, and if none of the program's words has "{NAME}".
[[nodiscard]] PerOption read_per(const std::string& text, const std::vector<std::string>& words);

/// The words with a value in the place of "{NAME}".
[[nodiscard]] std::vector<std::string> with_value(std::vector<std::string> words, const std::string& name, const std::string& value);

/// What is known of a program with one of the values.
struct PerValue {
    std::string value;
    std::optional<ProgramAnswer> answer;  ///< nullopt: nothing is known
    std::string error;                    ///< why
};

/// The last value that fits; nullptr: none does. Numbers go by their size, other values as they were given.
[[nodiscard]] const PerValue* largest_that_fits(const std::vector<PerValue>& rows);

void print_per(const tools::Page& page, const ProgramRun& run, const std::string& name, const std::vector<PerValue>& rows);

}  // namespace hpo::tune
