// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/allocator/allocation_trace.hpp"

namespace hpo::command {

/// What a program took on a virtual card with some numbers.
struct ProgramRecording {
    std::int64_t series = 0;  ///< recordings that belong together have the same
    std::vector<double> numbers;
    std::string torch;  ///< the program's version of it
    std::string conf;   ///< the allocator's settings
    std::int64_t beside_bytes = 0;
    std::vector<std::string> notes;
    std::optional<double> error{};  ///< TraceLaw::errors of it
    hpo::allocator::AllocationTrace trace;
};

/// As a text that a store can keep.
[[nodiscard]] std::string text_of(const ProgramRecording& recording);
/// Nullopt if the text is none of text_of.
[[nodiscard]] std::optional<ProgramRecording> recording_of(const std::string& text);

}  // namespace hpo::command
