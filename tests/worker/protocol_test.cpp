// SPDX-License-Identifier: MIT
#include "hpo/worker/protocol.hpp"

#include <algorithm>
#include <fstream>
#include <set>

#include "hpo/core/seed.hpp"
#include "hpo/worker/line_buffer.hpp"
#include "support/catch.hpp"
#include "support/messages.hpp"
#include "support/wording.hpp"

using namespace hpo;
using namespace hpo::worker;

TEST_CASE("every message comes back as it was sent") {
    for (const Request& request : test::all_requests()) {
        const std::string line = message_line(request);
        CHECK(line.back() == '\n');
        CHECK(std::count(line.begin(), line.end(), '\n') == 1);
        const auto got = parse_message<Request>(line);
        CHECK(got.index() == request.index());
        CHECK(message_line(got) == line);
    }
    for (const Event& event : test::all_events()) {
        const std::string line = message_line(event);
        const auto got = parse_message<Event>(line);
        CHECK(got.index() == event.index());
        CHECK(message_line(got) == line);
        CHECK(std::count(line.begin(), line.end(), '\n') == 1);
    }
}

TEST_CASE("what is no message is refused, and what is known is listed") {
    CHECK_THROWS_WITH(parse_message<Request>(R"({"op": "akk"})"),
                      "message: unknown op 'akk'; " + test::did_you_mean("ask") + "; known: ask, event_answer, stop, quit");
    CHECK_THROWS_WITH(parse_message<Request>("[1]"), "message: got [1]; expected an object");
    CHECK_THROWS_WITH(parse_message<Request>(R"({"op": 3})"), "message.op: got 3; expected a text");
    CHECK_THROWS_WITH(parse_message<Event>(R"({"op": "happened", "event": {"op": "report", "step": "a"}})"),
                      R"(message.event.step: got "a"; expected a whole number)");
    CHECK_THROWS_WITH(parse_message<Event>(R"({"op": "happened", "event": {"op": "re\nport"}})"),
                      "message.event: unknown op 're\\nport'; " + test::did_you_mean("report") +
                          "; known: started, report, suggest, recall, keep, memory, checkpoint, alive, phase, log, end");
    CHECK_THROWS_AS(parse_message<Event>(""), Error);
}

TEST_CASE("each line that the fuzzer of messages begins with is a message, and each kind is among them") {
    std::ifstream seeds{HPO_SOURCE_DIR "/tests/fuzz/corpus/protocol.lines"};
    std::set<std::size_t> requests;
    std::set<std::size_t> events;
    std::set<std::size_t> attempt_events;
    for (std::string line; std::getline(seeds, line);) {
        INFO(line);
        const bool is_request = std::ranges::any_of(test::all_requests(), [&](const Request& request) {
            return std::visit([&](const auto& m) { return line.find("\"op\":\"" + std::string{m.op} + '"') != std::string::npos; },
                              request);
        });
        if (is_request) {
            requests.insert(parse_message<Request>(line).index());
            continue;
        }
        const auto event = parse_message<Event>(line);
        events.insert(event.index());
        if (const auto* const told = std::get_if<Happened>(&event)) attempt_events.insert(told->event.index());
    }
    CHECK(requests.size() == std::variant_size_v<Request>);
    CHECK(events.size() == std::variant_size_v<Event>);
    CHECK(attempt_events.size() == std::variant_size_v<AttemptEvent>);
}

TEST_CASE("20,000 mutated and random lines are understood or refused, never anything else") {
    Rng rng = Seed{1}.rng();
    std::vector<std::string> lines;
    for (const Request& request : test::all_requests()) lines.push_back(message_line(request));
    for (const Event& event : test::all_events()) lines.push_back(message_line(event));
    int understood = 0;
    int refused = 0;
    for (int i = 0; i < 20'000; ++i) {
        const std::string line = test::mutated(lines[rng.below(lines.size())], rng);
        for (const bool from_worker : {false, true}) {
            try {
                if (from_worker) static_cast<void>(parse_message<Event>(line));
                else static_cast<void>(parse_message<Request>(line));
                ++understood;
            } catch (const Error& error) {
                ++refused;
            }
        }
    }
    CHECK(understood > 1000);
    CHECK(refused > 1000);
}

TEST_CASE("lines are the same however their bytes arrive") {
    Rng rng = Seed{2}.rng();
    std::string stream;
    std::vector<std::string> sent;
    for (int i = 0; i < 500; ++i) {
        sent.emplace_back(rng.below(300), static_cast<char>('a' + i % 26));
        stream += sent.back() + '\n';
    }
    for (const std::size_t most : {1, 7, 100, 100'000}) {
        LineBuffer buffer;
        std::vector<std::string> got;
        for (std::size_t at = 0; at < stream.size();) {
            const std::size_t length = std::min<std::size_t>(1 + rng.below(most), stream.size() - at);
            buffer.append(std::string_view{stream}.substr(at, length));
            at += length;
            while (auto line = buffer.next()) got.push_back(std::move(*line));
        }
        CHECK(got == sent);
    }
}

TEST_CASE("a line without an end is given up at the limit") {
    LineBuffer buffer{1000};
    buffer.append(std::string(1000, 'x'));
    CHECK_FALSE(buffer.next());
    buffer.append("x");
    CHECK_THROWS_WITH(buffer.next(), "message: got a line above 1000 bytes; expected a shorter one");
}
