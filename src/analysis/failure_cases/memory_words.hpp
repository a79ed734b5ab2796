// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "hpo/core/failure.hpp"

namespace hpo::analysis::detail {

/// What a line of a program's log says about memory in words of its own.
enum class MemoryWords {
    none,       ///< nothing, or it only mentions memory: advice, a setting, a hope
    predicted,  ///< the program says that memory would run out (predicts_oom)
    doubtful,   ///< it speaks of an out-of-memory, and may only mention it
    device,     ///< memory ran out: "CUDA out of memory (batch=32)", "OOM!", "not enough GPU memory: returning penalty"
    host,       ///< "MemoryError"
};

/// Reads a line that is not an allocator's message. Only words that a log has before such a message may stand before it: a time, a level, a
/// worker, a trial, "skipping config", "caught". What stands before a level is the logger's name, and is skipped.
[[nodiscard]] MemoryWords memory_words(std::string_view line);

/// Takes the words about memory in the text of a pruned trial for its failure, unless that is of memory or the device already.
void take_memory_words(Failure& failure, std::string_view text);

/// What the text with which a program pruned a trial tells of memory or the device. Nullopt if that is nothing.
[[nodiscard]] std::optional<Failure> failure_in_pruned_text(std::string_view text);

}  // namespace hpo::analysis::detail
