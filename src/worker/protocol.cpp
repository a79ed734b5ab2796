// SPDX-License-Identifier: MIT
#include "hpo/worker/protocol.hpp"

#include <string>
#include <string_view>

#include "hpo/trainer/json.hpp"

namespace hpo::worker {

std::string message_line(const Request& message) { return record_line(message) + '\n'; }
std::string message_line(const Event& message) { return record_line(message) + '\n'; }

template <>
Request parse_message<Request>(std::string_view line) {
    return read_record<Request>(line, "message");
}
template <>
Event parse_message<Event>(std::string_view line) {
    return read_record<Event>(line, "message");
}

}  // namespace hpo::worker
