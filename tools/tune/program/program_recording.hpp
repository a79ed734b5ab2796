// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace hpo::tune {

/// The first word of a command line that a worker starts: record_program() with the words behind it.
inline constexpr const char* recording_word = "record-program";

/// Runs a program on a virtual card until its optimizers made two steps. `words`: a folder that exists and is empty, the card as
/// HPO_VIRTUAL_CARD has it, the most seconds, and then the program's words. Writes to the folder
///
/// - `trace`, what the program took (hpo/allocator/trace_file.hpp)
/// - `told.json`: {"torch", "conf", "beside_bytes", "unknown", "failed", "notes"}, or {"error"}. `unknown`: why the whole of what it
///   takes is not known; empty: it is. `failed`: because it failed, or took too long
///
/// Returns the exit status: 0 if both are there.
[[nodiscard]] int record_program(const std::vector<std::string>& words);

}  // namespace hpo::tune
