// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "hpo/core/fields.hpp"
#include "hpo/core/outcome.hpp"

namespace hpo {

/// Its process has begun with the attempt.
struct AttemptStarted {
    static constexpr std::string_view op = "started";
    std::int64_t worker_pid = 0;  ///< 0: this process

    static constexpr void fields(auto field) { field("worker_pid", &AttemptStarted::worker_pid, {.is_local = true}); }
};

/// A program asks for a parameter while it runs (Progress::suggest).
struct Question {
    static constexpr std::string_view op = "suggest";
    std::string name;
    std::string distribution;  ///< JSON as Optuna writes it

    static constexpr void fields(auto field) {
        field("name", &Question::name);
        field("distribution", &Question::distribution);
    }
};

/// The trainer asks for a text that it kept (Progress::recall).
struct Recall {
    static constexpr std::string_view op = "recall";
    std::string key;

    static constexpr void fields(auto field) { field("key", &Recall::key); }
};

/// The trainer keeps a text (Progress::keep).
struct Kept {
    static constexpr std::string_view op = "keep";
    std::string key;
    std::string text;

    static constexpr void fields(auto field) {
        field("key", &Kept::key);
        field("text", &Kept::text);
    }
};

/// The attempt's folder has a complete checkpoint of this step.
struct Checkpoint {
    static constexpr std::string_view op = "checkpoint";
    std::int64_t step = 0;

    static constexpr void fields(auto field) { field("step", &Checkpoint::step); }
};

/// The program that the trainer runs has said something.
struct Alive {
    static constexpr std::string_view op = "alive";

    static constexpr void fields(auto /*field*/) {}
};

/// A trainer's check has come to this phase (Progress::phase).
struct Phase {
    static constexpr std::string_view op = "phase";
    std::string name;

    static constexpr void fields(auto field) { field("name", &Phase::name); }
};

/// A line for the trial's log.
struct LogLine {
    static constexpr std::string_view op = "log";
    std::string text;

    static constexpr void fields(auto field) { field("text", &LogLine::text); }
};

template <>
inline constexpr std::string_view op_of<Report> = "report";
template <>
inline constexpr std::string_view op_of<MemoryMark> = "memory";
template <>
inline constexpr std::string_view op_of<AttemptOutcome> = "end";

/// What an attempt tells, from its start to its end, on the whole way from a plugin to the tuner. The end comes exactly once, whatever
/// happened.
using AttemptEvent =
    std::variant<AttemptStarted, Report, Question, Recall, Kept, MemoryMark, Checkpoint, Alive, Phase, LogLine, AttemptOutcome>;

/// What a report, a question and a Recall are answered with. Other events need no answer.
struct EventAnswer {
    /// False: the attempt should stop. A report is answered so if the trial is pruned, and each of the three once the attempt was asked to
    /// end.
    bool goes_on = true;
    Suggestion suggestion{};          ///< to a question
    std::optional<std::string> text;  ///< to a Recall; nullopt: nothing was kept

    static constexpr void fields(auto field) {
        field("goes_on", &EventAnswer::goes_on);
        field("suggestion", &EventAnswer::suggestion);
        field("text", &EventAnswer::text);
    }
};

/// True if the attempt waits until it has an EventAnswer.
[[nodiscard]] inline bool awaits_answer(const AttemptEvent& event) {
    return std::holds_alternative<Report>(event) || std::holds_alternative<Question>(event) || std::holds_alternative<Recall>(event);
}

}  // namespace hpo
