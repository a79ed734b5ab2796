// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hpo/trainer/trainer.hpp"

/// The messages between supervisor and worker, over a socket pair. Each line is one JSON object, and its `op` names the message. The worker
/// speaks first (Ready or Refused). After a report, the trainer waits for GoOn or Stop.
namespace hpo::worker {

inline constexpr int protocol_version = 1;

/// @name From the supervisor
/// @{
struct RunJob {
    static constexpr std::string_view op = "job";
    TrainerJob job;

    static constexpr void fields(auto field) { field("job", &RunJob::job); }
};
struct EvaluateModel {  ///< TrainerJob::saved_model; answered like RunJob
    static constexpr std::string_view op = "evaluate";
    TrainerJob job;

    static constexpr void fields(auto field) { field("job", &EvaluateModel::job); }
};
struct GoOn {  ///< answers a report
    static constexpr std::string_view op = "go_on";
    bool prune = false;  ///< the pruner would end the trial here. An attempt that prunes itself passes that on

    static constexpr void fields(auto field) { field("prune", &GoOn::prune); }
};
struct Stop {  ///< the running attempt should end; also answers a report
    static constexpr std::string_view op = "stop";

    static constexpr void fields(auto /*field*/) {}
};
struct Suggested {  ///< answers Asked
    static constexpr std::string_view op = "suggested";
    Suggestion suggestion;

    static constexpr void fields(auto field) { field("suggestion", &Suggested::suggestion); }
};
struct Recalled {  ///< answers Recall
    static constexpr std::string_view op = "recalled";
    std::string key;
    std::optional<std::string> text;

    static constexpr void fields(auto field) {
        field("key", &Recalled::key);
        field("text", &Recalled::text);
    }
};
struct AskProfile {
    static constexpr std::string_view op = "profile";
    TrainerJob job;
    std::int64_t id = 0;  ///< comes back with the answer

    static constexpr void fields(auto field) {
        field("job", &AskProfile::job);
        field("id", &AskProfile::id);
    }
};
struct AskPeak {  ///< TrainerJob::trace_file; answered with a prediction or an error
    static constexpr std::string_view op = "predict";
    TrainerJob job;
    PeakSource source = PeakSource::dry_run;
    std::int64_t most_memory_bytes = 0;  ///< host memory that the worker's process may take in addition; 0: no limit
    std::int64_t id = 0;                 ///< comes back with the answer

    static constexpr void fields(auto field) {
        field("job", &AskPeak::job);
        field("source", &AskPeak::source);
        field("most_memory_bytes", &AskPeak::most_memory_bytes);
        field("id", &AskPeak::id);
    }
};
struct AskCheck {
    static constexpr std::string_view op = "check";
    TrainerJob job;
    std::int64_t most_memory_bytes = 0;  ///< as for AskPeak
    std::int64_t id = 0;                 ///< comes back with the answer

    static constexpr void fields(auto field) {
        field("job", &AskCheck::job);
        field("most_memory_bytes", &AskCheck::most_memory_bytes);
        field("id", &AskCheck::id);
    }
};
struct AskMeasure {  ///< answered with findings or an error
    static constexpr std::string_view op = "measure";
    TrainerJob job;
    std::int64_t id = 0;  ///< comes back with the answer

    static constexpr void fields(auto field) {
        field("job", &AskMeasure::job);
        field("id", &AskMeasure::id);
    }
};
struct Quit {
    static constexpr std::string_view op = "quit";

    static constexpr void fields(auto /*field*/) {}
};
using Request = std::variant<RunJob, EvaluateModel, GoOn, Stop, Suggested, Recalled, AskProfile, AskPeak, AskCheck, AskMeasure, Quit>;
/// @}

/// @name From the worker
/// @{
struct Ready {
    static constexpr std::string_view op = "ready";
    int protocol = protocol_version;
    TrainerInfo info;
    std::string build;  ///< changes when the trainer's code changes; empty: not known

    static constexpr void fields(auto field) {
        field("protocol", &Ready::protocol);
        field("info", &Ready::info);
        field("build", &Ready::build);
    }
};
struct Refused {  ///< the worker cannot go on, and ends
    static constexpr std::string_view op = "refused";
    std::string what;

    static constexpr void fields(auto field) { field("what", &Refused::what); }
};
struct Started {
    static constexpr std::string_view op = "started";

    static constexpr void fields(auto /*field*/) {}
};
struct Reported {
    static constexpr std::string_view op = "report";
    Report report;

    static constexpr void fields(auto field) { field("report", &Reported::report); }
};
struct Asked {  ///< Progress::suggest; the trainer waits for Suggested or Stop
    static constexpr std::string_view op = "suggest";
    std::string name;
    std::string distribution;  ///< JSON as Optuna writes it

    static constexpr void fields(auto field) {
        field("name", &Asked::name);
        field("distribution", &Asked::distribution);
    }
};
struct Recall {  ///< Progress::recall; the trainer waits for Recalled or Stop
    static constexpr std::string_view op = "recall";
    std::string key;

    static constexpr void fields(auto field) { field("key", &Recall::key); }
};
struct Keep {  ///< Progress::keep
    static constexpr std::string_view op = "keep";
    std::string key;
    std::string text;

    static constexpr void fields(auto field) {
        field("key", &Keep::key);
        field("text", &Keep::text);
    }
};
struct Alive {  ///< the program that the trainer runs has said something
    static constexpr std::string_view op = "alive";

    static constexpr void fields(auto /*field*/) {}
};
struct Measured {
    static constexpr std::string_view op = "memory";
    MemoryMark mark;

    static constexpr void fields(auto field) { field("mark", &Measured::mark); }
};
struct Checkpointed {  ///< only for jobs that have a checkpoint folder
    static constexpr std::string_view op = "checkpoint";
    std::int64_t step = 0;

    static constexpr void fields(auto field) { field("step", &Checkpointed::step); }
};
struct Ended {
    static constexpr std::string_view op = "end";
    AttemptOutcome outcome;
    bool leaving = false;  ///< the process ends, because its device is unusable or it holds memory that it should not

    static constexpr void fields(auto field) {
        field("outcome", &Ended::outcome);
        field("leaving", &Ended::leaving);
    }
};
struct Answered {  ///< to AskProfile, AskPeak, AskCheck and AskMeasure
    static constexpr std::string_view op = "answer";
    std::int64_t id = 0;  ///< of the question
    std::optional<Profile> profile;
    std::optional<PeakPrediction> peak;
    std::vector<TrainerProblem> problems;
    std::vector<std::string> remarks;  ///< what the trainer logged while it checked
    std::vector<DeviceFinding> findings;
    std::optional<std::string> error;
    bool no_memory = false;                  ///< the error is that the allowed host memory did not suffice
    bool cannot_run = false;                 ///< the error is CannotRun
    std::optional<std::int64_t> held_bytes;  ///< what the process held of the device afterwards, if the trainer marks it

    static constexpr void fields(auto field) {
        field("id", &Answered::id);
        field("profile", &Answered::profile);
        field("peak", &Answered::peak);
        field("problems", &Answered::problems);
        field("remarks", &Answered::remarks);
        field("findings", &Answered::findings);
        field("error", &Answered::error);
        field("no_memory", &Answered::no_memory);
        field("cannot_run", &Answered::cannot_run);
        field("held_bytes", &Answered::held_bytes);
    }
};
using Event = std::variant<Ready, Refused, Started, Reported, Asked, Recall, Keep, Alive, Measured, Checkpointed, Ended, Answered>;
/// @}

/// A message as a line, with the line end.
[[nodiscard]] std::string message_line(const Request& message);
[[nodiscard]] std::string message_line(const Event& message);

/// Reads a line: a Request or an Event. Throws Error{bad_value} if it is no message of the asked kind.
template <class Message>
[[nodiscard]] Message parse_message(std::string_view line);
template <>
[[nodiscard]] Request parse_message<Request>(std::string_view line);
template <>
[[nodiscard]] Event parse_message<Event>(std::string_view line);

}  // namespace hpo::worker
