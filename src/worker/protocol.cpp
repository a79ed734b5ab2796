// SPDX-License-Identifier: MIT
#include "hpo/worker/protocol.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/trainer/json.hpp"

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
