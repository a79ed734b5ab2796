// SPDX-License-Identifier: MIT
// Stands in for hpo-worker and talks nonsense, of a kind that HPO_TEST_BABBLE chooses, before it ends.
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "support/messages.hpp"

namespace {

using namespace hpo;

void say(std::string_view text) {
    while (!text.empty()) {
        const ssize_t sent = ::send(3, text.data(), text.size(), MSG_NOSIGNAL);
        if (sent <= 0) ::_exit(0);
        text.remove_prefix(static_cast<std::size_t>(sent));
    }
}
void say(const worker::Event& event) { say(worker::message_line(event)); }
void await_anything() {
    char bytes[4096];
    if (::read(3, bytes, sizeof bytes) <= 0) ::_exit(0);
}

/// The number of the question that comes next.
std::int64_t next_question() {
    std::string line;
    for (char c = 0; c != '\n'; line += c) {
        if (::read(3, &c, 1) <= 0) ::_exit(0);
    }
    return std::get<worker::Ask>(worker::parse_message<worker::Request>(line)).id;
}

}  // namespace

int main() {
    const char* const text = std::getenv("HPO_TEST_BABBLE");
    const std::string kind = text ? text : "";
    if (kind == "silent") return 0;
    if (kind == "half_line") {
        say(R"({"op": "ready", "proto)");
        return 0;
    }
    if (kind == "other_protocol") {
        say(worker::Ready{.protocol = worker::protocol_version + 1});
        ::sleep(60);
    }
    if (kind == "refuses") {
        say(worker::Refused{"no such thing"});
        return 6;
    }
    const auto events = test::all_events();
    say(events[0]);
    if (kind == "answers_late") {
        const auto first = next_question();
        say(worker::Answered{.id = first - 1, .profile = Profile{.parameters = 1}});
        say(worker::Answered{.id = first, .profile = Profile{.parameters = 2}});
        const auto second = next_question();
        say(worker::Answered{.id = first, .profile = Profile{.parameters = 3}});
        say(worker::Answered{.id = second, .profile = Profile{.parameters = 4}});
    }
    await_anything();
    const worker::Event end = worker::Happened{AttemptOutcome{.kind = OutcomeKind::complete, .values = {1.0}}};
    if (kind == "ends_twice") {
        say(end);
        say(end);
        await_anything();
        say(end);
    } else if (kind == "answers_unasked") {
        say(worker::Answered{});
        say(worker::Happened{AttemptStarted{}});
        say(end);
    } else if (kind == "half_end") {
        const std::string line = worker::message_line(end);
        say(std::string_view{line}.substr(0, line.size() / 2));
    } else if (kind == "all_at_once") {
        std::string lines;
        for (const auto& event : events) lines += worker::message_line(event);
        say(lines);
    } else if (kind == "endless_line") {
        const std::string block(1 << 20, 'x');
        for (int i = 0; i < 300; ++i) say(block);
        ::sleep(60);
    } else {
        Rng rng = Seed{std::strtoull(kind.c_str(), nullptr, 10)}.rng();
        for (auto left = 1 + rng.below(20); left > 0; --left) {
            std::string line = worker::message_line(events[rng.below(events.size())]);
            if (rng.below(3) > 0) line = test::mutated(line, rng);
            say(line + (rng.below(4) > 0 ? "\n" : ""));
        }
    }
    return 0;
}
