// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "hpo/core/memory_leak.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/failure/failure_line.hpp"
#include "hpo/guard/predicted_estimate.hpp"

namespace hpo::tuner {

/// Drops from a finished trial what only a post-mortem reads, and gives the memory back. The store has it all. A long run then keeps every
/// trial for its policies without filling the memory. What is dropped:
///
/// - tracebacks, except the last words of a process that told nothing else
/// - the message and the evidence of a failure that another attempt followed; its kind, cause and figures stay
/// - the neighbours in a failure's memory reading
/// - memory marks, except those that tell held memory (core/memory_leak.hpp)
/// - the parts of estimates, except those by which guards count errors (guard::tells_error)
void drop_details(Trial& finished);

/// Clears a text or a list and frees its memory. An assignment of an empty one would keep the memory.
inline void free_all(auto& container) {
    container.clear();
    container.shrink_to_fit();
}

inline void drop_details(Failure& failure, bool is_last) {
    std::string words = is_last && says_only_its_end(failure) ? last_words_of(failure) : std::string{};
    free_all(failure.traceback);
    failure.traceback = std::move(words);  // part of its signature
    free_all(failure.memory.neighbours);
    if (!is_last) {
        free_all(failure.message);
        free_all(failure.evidence);
    }
    failure.message.shrink_to_fit();
    failure.evidence.shrink_to_fit();
}

inline void drop_details(Attempt& attempt, bool is_last) {
    if (attempt.failure) drop_details(*attempt.failure, is_last);
    if (attempt.estimate) {
        std::erase_if(attempt.estimate->parts, [](const EstimatePart& part) { return !guard::tells_error(part); });
        attempt.estimate->parts.shrink_to_fit();
    }
    std::erase_if(attempt.memory, [](const MemoryMark& mark) { return !tells_held(mark); });
    attempt.memory.shrink_to_fit();
    attempt.decision.shrink_to_fit();
    attempt.reports.shrink_to_fit();
}

inline void drop_details(Trial& finished) {
    for (Attempt& attempt : finished.attempts) drop_details(attempt, &attempt == &finished.attempts.back());
    finished.attempts.shrink_to_fit();
    finished.intermediate.shrink_to_fit();
    finished.constraints.shrink_to_fit();
    for (auto& [name, json] : finished.user_attributes) json.shrink_to_fit();
}

}  // namespace hpo::tuner
