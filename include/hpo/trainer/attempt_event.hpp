// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "hpo/core/outcome.hpp"

namespace hpo {

/// Its process has begun with the attempt.
struct AttemptStarted {
    std::int64_t worker_pid = 0;  ///< 0: this process
};

/// A program asks for a parameter while it runs (Progress::suggest).
struct Question {
    std::string name;
    std::string distribution;  ///< JSON as Optuna writes it
};

/// The attempt's folder has a complete checkpoint of this step.
struct Checkpoint {
    std::int64_t step = 0;
};

/// What an attempt tells, from its start to its end. The end comes exactly once, whatever happened.
using AttemptEvent = std::variant<AttemptStarted, Report, Question, MemoryMark, Checkpoint, AttemptOutcome>;

/// What a report and a question are answered with. Other events need no answer.
struct EventAnswer {
    bool goes_on = true;      ///< to a report: false if the attempt should stop
    Suggestion suggestion{};  ///< to a question
};

/// One function out of several, for std::visit.
template <class... Functions>
struct Cases : Functions... {
    using Functions::operator()...;
};

}  // namespace hpo
