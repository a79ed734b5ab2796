// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hpo/trainer/attempt_event.hpp"
#include "hpo/trainer/trainer.hpp"

/// The messages between supervisor and worker, over a socket pair. Each line is one JSON object, and its `op` names the message. The worker
/// speaks first (Ready or Refused).
namespace hpo::worker {

inline constexpr int protocol_version = 2;

/// @name From the supervisor
/// @{
struct Ask {  ///< `run` and `evaluate` are answered with events, the last of which is an AttemptOutcome; others with Answered
    static constexpr std::string_view op = "ask";
    TrainerRequest request{};
    std::int64_t most_memory_bytes = 0;  ///< host memory that the worker's process may take in addition; 0: no limit
    std::int64_t id = 0;                 ///< comes back with Answered

    static constexpr void fields(auto field) {
        field("request", &Ask::request);
        field("most_memory_bytes", &Ask::most_memory_bytes);
        field("id", &Ask::id);
    }
};
struct Answer {  ///< to an event that awaits_answer
    static constexpr std::string_view op = "event_answer";
    EventAnswer answer{};
    std::int64_t event = 0;  ///< Happened::id

    static constexpr void fields(auto field) {
        field("answer", &Answer::answer);
        field("event", &Answer::event);
    }
};
struct Stop {  ///< the running attempt should end; also answers what it asked
    static constexpr std::string_view op = "stop";

    static constexpr void fields(auto /*field*/) {}
};
struct Quit {
    static constexpr std::string_view op = "quit";

    static constexpr void fields(auto /*field*/) {}
};
using Request = std::variant<Ask, Answer, Stop, Quit>;
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
struct Happened {  ///< of the attempt that runs, or of a question
    static constexpr std::string_view op = "happened";
    AttemptEvent event = Alive{};
    std::int64_t id = 0;   ///< of an event that awaits_answer
    bool leaving = false;  ///< at the end: the process ends, because its device is unusable or it holds memory that it should not

    static constexpr void fields(auto field) {
        field("event", &Happened::event);
        field("id", &Happened::id);
        field("leaving", &Happened::leaving);
    }
};
struct Answered {
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
using Event = std::variant<Ready, Refused, Happened, Answered>;
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
