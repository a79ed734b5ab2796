// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "hpo/trainer/json.hpp"

/// The messages between supervisor and worker, over a socket pair. Each line is one JSON object, and its `op` names the message. The worker
/// speaks first (Ready or Refused). After a report, the trainer waits for GoOn or Stop.
namespace hpo::worker {

inline constexpr int protocol_version = 1;

/// @name From the supervisor
/// @{
struct RunJob {
    static constexpr std::string_view op = "job";
    TrainerJob job;
};
struct EvaluateModel {  ///< TrainerJob::saved_model; answered like RunJob
    static constexpr std::string_view op = "evaluate";
    TrainerJob job;
};
struct GoOn {  ///< answers a report
    static constexpr std::string_view op = "go_on";
};
struct Stop {  ///< the running attempt should end; also answers a report
    static constexpr std::string_view op = "stop";
};
struct AskProfile {
    static constexpr std::string_view op = "profile";
    TrainerJob job;
    std::int64_t id = 0;  ///< comes back with the answer
};
struct AskPeak {  ///< TrainerJob::trace_file; answered with a prediction or an error
    static constexpr std::string_view op = "predict";
    TrainerJob job;
    PeakSource source = PeakSource::dry_run;
    std::int64_t most_memory_bytes = 0;  ///< host memory that the worker's process may take in addition; 0: no limit
    std::int64_t id = 0;                 ///< comes back with the answer
};
struct AskCheck {
    static constexpr std::string_view op = "check";
    TrainerJob job;
    std::int64_t id = 0;  ///< comes back with the answer
};
struct Quit {
    static constexpr std::string_view op = "quit";
};
using Request = std::variant<RunJob, EvaluateModel, GoOn, Stop, AskProfile, AskPeak, AskCheck, Quit>;
/// @}

/// @name From the worker
/// @{
struct Ready {
    static constexpr std::string_view op = "ready";
    int protocol = protocol_version;
    TrainerInfo info;
    std::string build;  ///< changes when the trainer's code changes; empty: not known
};
struct Refused {  ///< the worker cannot go on, and ends
    static constexpr std::string_view op = "refused";
    std::string what;
};
struct Started {
    static constexpr std::string_view op = "started";
};
struct Reported {
    static constexpr std::string_view op = "report";
    Report report;
};
struct Measured {
    static constexpr std::string_view op = "memory";
    MemoryMark mark;
};
struct Checkpointed {  ///< only for jobs that have a checkpoint folder
    static constexpr std::string_view op = "checkpoint";
    std::int64_t step = 0;
};
struct Ended {
    static constexpr std::string_view op = "end";
    AttemptOutcome outcome;
    bool leaving = false;  ///< the process ends, because its device is unusable or it holds memory that it should not
};
struct Answered {  ///< to AskProfile, AskPeak and AskCheck
    static constexpr std::string_view op = "answer";
    std::int64_t id = 0;  ///< of the question
    std::optional<Profile> profile;
    std::optional<PeakPrediction> peak;
    std::vector<TrainerProblem> problems;
    std::vector<std::string> remarks;  ///< what the trainer logged while it checked
    std::optional<std::string> error;
    bool no_memory = false;                  ///< the error is that the allowed host memory did not suffice
    std::optional<std::int64_t> held_bytes;  ///< what the process held of the device afterwards, if the trainer marks it
};
using Event = std::variant<Ready, Refused, Started, Reported, Measured, Checkpointed, Ended, Answered>;
/// @}

/// A message as a line, with the line end.
template <class... M>
[[nodiscard]] std::string message_line(const std::variant<M...>& message) {
    return std::visit(
        [](const auto& m) {
            Json json = encode(m);
            json["op"] = std::string{m.op};
            return json_line(json) + '\n';
        },
        message);
}

/// Reads a line. Throws Error{bad_value} if it is no message of the asked kind.
template <class Message>
[[nodiscard]] Message parse_message(std::string_view line) {
    const Json json = parse_json(line, "message");
    std::string op;
    if (!json.is_object()) detail::refuse(json, "message", "an object");
    if (const auto found = json.find("op"); found != json.end()) decode(*found, "op", op);
    std::optional<Message> message;
    std::vector<std::string> known;
    const auto attempt = [&]<class M>(std::in_place_type_t<M>) {
        known.emplace_back(M::op);
        if (op == M::op) message = decoded<M>(json, op);
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) { (attempt(std::in_place_type<std::variant_alternative_t<I, Message>>), ...); }
    (std::make_index_sequence<std::variant_size_v<Message>>{});
    if (!message) throw unknown_name("message", "op", op, known);
    return std::move(*message);
}

}  // namespace hpo::worker

namespace hpo {

template <>
struct JsonMembers<worker::RunJob> {
    static constexpr std::tuple list{JsonMember{"job", &worker::RunJob::job}};
};
template <>
struct JsonMembers<worker::EvaluateModel> {
    static constexpr std::tuple list{JsonMember{"job", &worker::EvaluateModel::job}};
};
template <>
struct JsonMembers<worker::GoOn> {
    static constexpr std::tuple<> list{};
};
template <>
struct JsonMembers<worker::Stop> {
    static constexpr std::tuple<> list{};
};
template <>
struct JsonMembers<worker::AskProfile> {
    static constexpr std::tuple list{JsonMember{"job", &worker::AskProfile::job}, JsonMember{"id", &worker::AskProfile::id}};
};
template <>
struct JsonMembers<worker::AskPeak> {
    using R = worker::AskPeak;
    static constexpr std::tuple list{JsonMember{"job", &R::job}, JsonMember{"source", &R::source},
                                     JsonMember{"most_memory_bytes", &R::most_memory_bytes}, JsonMember{"id", &R::id}};
};
template <>
struct JsonMembers<worker::AskCheck> {
    static constexpr std::tuple list{JsonMember{"job", &worker::AskCheck::job}, JsonMember{"id", &worker::AskCheck::id}};
};
template <>
struct JsonMembers<worker::Quit> {
    static constexpr std::tuple<> list{};
};
template <>
struct JsonMembers<worker::Ready> {
    static constexpr std::tuple list{JsonMember{"protocol", &worker::Ready::protocol}, JsonMember{"info", &worker::Ready::info},
                                     JsonMember{"build", &worker::Ready::build}};
};
template <>
struct JsonMembers<worker::Refused> {
    static constexpr std::tuple list{JsonMember{"what", &worker::Refused::what}};
};
template <>
struct JsonMembers<worker::Started> {
    static constexpr std::tuple<> list{};
};
template <>
struct JsonMembers<worker::Reported> {
    static constexpr std::tuple list{JsonMember{"report", &worker::Reported::report}};
};
template <>
struct JsonMembers<worker::Measured> {
    static constexpr std::tuple list{JsonMember{"mark", &worker::Measured::mark}};
};
template <>
struct JsonMembers<worker::Checkpointed> {
    static constexpr std::tuple list{JsonMember{"step", &worker::Checkpointed::step}};
};
template <>
struct JsonMembers<worker::Ended> {
    static constexpr std::tuple list{JsonMember{"outcome", &worker::Ended::outcome}, JsonMember{"leaving", &worker::Ended::leaving}};
};
template <>
struct JsonMembers<worker::Answered> {
    static constexpr std::tuple list{JsonMember{"id", &worker::Answered::id},
                                     JsonMember{"profile", &worker::Answered::profile},
                                     JsonMember{"peak", &worker::Answered::peak},
                                     JsonMember{"problems", &worker::Answered::problems},
                                     JsonMember{"remarks", &worker::Answered::remarks},
                                     JsonMember{"error", &worker::Answered::error},
                                     JsonMember{"no_memory", &worker::Answered::no_memory},
                                     JsonMember{"held_bytes", &worker::Answered::held_bytes}};
};

}  // namespace hpo
