// SPDX-License-Identifier: MIT
#include "hpo/worker/protocol.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/trainer/json.hpp"

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
    static constexpr std::tuple list{JsonMember{"prune", &worker::GoOn::prune}};
};
template <>
struct JsonMembers<worker::Stop> {
    static constexpr std::tuple<> list{};
};
template <>
struct JsonMembers<worker::Suggested> {
    static constexpr std::tuple list{JsonMember{"suggestion", &worker::Suggested::suggestion}};
};
template <>
struct JsonMembers<worker::Recalled> {
    static constexpr std::tuple list{JsonMember{"key", &worker::Recalled::key}, JsonMember{"text", &worker::Recalled::text}};
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
    using R = worker::AskCheck;
    static constexpr std::tuple list{JsonMember{"job", &R::job}, JsonMember{"most_memory_bytes", &R::most_memory_bytes},
                                     JsonMember{"id", &R::id}};
};
template <>
struct JsonMembers<worker::AskMeasure> {
    static constexpr std::tuple list{JsonMember{"job", &worker::AskMeasure::job}, JsonMember{"id", &worker::AskMeasure::id}};
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
struct JsonMembers<worker::Asked> {
    static constexpr std::tuple list{JsonMember{"name", &worker::Asked::name}, JsonMember{"distribution", &worker::Asked::distribution}};
};
template <>
struct JsonMembers<worker::Recall> {
    static constexpr std::tuple list{JsonMember{"key", &worker::Recall::key}};
};
template <>
struct JsonMembers<worker::Keep> {
    static constexpr std::tuple list{JsonMember{"key", &worker::Keep::key}, JsonMember{"text", &worker::Keep::text}};
};
template <>
struct JsonMembers<worker::Alive> {
    static constexpr std::tuple<> list{};
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
                                     JsonMember{"findings", &worker::Answered::findings},
                                     JsonMember{"error", &worker::Answered::error},
                                     JsonMember{"no_memory", &worker::Answered::no_memory},
                                     JsonMember{"cannot_run", &worker::Answered::cannot_run},
                                     JsonMember{"held_bytes", &worker::Answered::held_bytes}};
};

}  // namespace hpo

namespace hpo::worker::detail {

template <class... M>
std::string line_of(const std::variant<M...>& message) {
    return std::visit(
        [](const auto& m) {
            Json json = encode(m);
            json["op"] = std::string{m.op};
            return json_line(json) + '\n';
        },
        message);
}

template <class Message>
Message message_of(std::string_view line) {
    const Json json = parse_json(line, "message");
    std::string op;
    if (!json.is_object()) hpo::detail::refuse(json, "message", "an object");
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

}  // namespace hpo::worker::detail

namespace hpo::worker {

std::string message_line(const Request& message) { return detail::line_of(message); }
std::string message_line(const Event& message) { return detail::line_of(message); }

template <>
Request parse_message<Request>(std::string_view line) {
    return detail::message_of<Request>(line);
}
template <>
Event parse_message<Event>(std::string_view line) {
    return detail::message_of<Event>(line);
}

}  // namespace hpo::worker
