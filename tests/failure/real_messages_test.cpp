// SPDX-License-Identifier: MIT
//
// Messages that people posted, and what has to be read from them. real_messages.jsonl has one in a line, with the address where it was
// found.
#if __has_include(<nlohmann/json.hpp>)
#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hpo/core/failure.hpp"
#include "hpo/failure/cause.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/failure/traits.hpp"
#include "support/catch.hpp"

namespace {

using nlohmann::json;

std::vector<json> lines_of(const std::string& name) {
    std::ifstream file{std::string{HPO_SOURCE_DIR} + "/tests/failure/" + name};
    std::vector<json> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(json::parse(line));
    return lines;
}

/// The bytes of "1.72 GiB".
std::int64_t bytes_of(const std::string& text) {
    const auto blank = text.find(' ');
    const std::string unit = text.substr(blank + 1);
    const double scale = unit == "GiB" ? 0x1.0p30 : unit == "MiB" ? 0x1.0p20 : unit == "KiB" ? 0x1.0p10 : 1;
    return std::llround(std::stod(text.substr(0, blank)) * scale);
}

/// The expected bytes: a size, or the sum of several. Nothing is expected to be absent.
std::optional<std::int64_t> expected_bytes(const json& message, const char* field) {
    if (!message.contains(field)) return std::nullopt;
    if (message[field].is_string()) return bytes_of(message[field]);
    std::int64_t sum = 0;
    for (const auto& part : message[field]) sum += bytes_of(part);
    return sum;
}

template <class Number>
std::optional<Number> expected_number(const json& message, const char* field) {
    return message.contains(field) ? std::optional{message[field].get<Number>()} : std::nullopt;
}

void check_figures(const hpo::Failure& failure, const json& message) {
    CHECK(failure.requested_bytes == expected_bytes(message, "requested"));
    CHECK(failure.memory.capacity == expected_bytes(message, "capacity"));
    CHECK(failure.memory.allocated == expected_bytes(message, "allocated"));
    CHECK(failure.memory.reserved == expected_bytes(message, "reserved"));
    CHECK(failure.memory.free == expected_bytes(message, "free"));
    CHECK(failure.memory.limit == expected_bytes(message, "limit"));
    CHECK(failure.code == expected_number<std::int64_t>(message, "code"));
    CHECK(failure.signal == expected_number<int>(message, "signal"));
    const json neighbours = message.value("neighbours", json::object());
    CHECK(failure.memory.neighbours.size() == neighbours.size());
    for (const hpo::MemoryNeighbour& neighbour : failure.memory.neighbours)
        CHECK(neighbour.bytes == bytes_of(neighbours.value(std::to_string(neighbour.pid), "-1 bytes")));
}

}  // namespace

TEST_CASE("what people posted is read as it was meant") {
    const std::vector<json> messages = lines_of("real_messages.jsonl");
    CHECK(messages.size() >= 100);
    std::set<std::string> texts;
    for (const json& message : messages) {
        const std::string text = message["text"];
        CAPTURE(message["source"].get<std::string>(), text);
        CHECK(texts.insert(text).second);
        CHECK(message["source"].get<std::string>().starts_with("https://"));

        hpo::Failure failure = hpo::classify_text({.type = {}, .message = text});
        CHECK(to_text(failure.kind) == message["kind"].get<std::string>());
        check_figures(failure, message);
        hpo::explain_oom(failure);
        CHECK((failure.cause ? std::string{to_text(*failure.cause)} : "") == message.value("cause", ""));
        const hpo::FailureTraits traits = hpo::traits_of(failure);
        CHECK(to_text(traits.blame) == message["blame"].get<std::string>());
        CHECK(to_text(traits.recurrence) == message["recurrence"].get<std::string>());
        CHECK(traits.sticky == message["sticky"].get<bool>());

        const std::string in_log = "epoch 1, loss 0.5\n" + text + "\nepoch 1 ended\n";
        CHECK(to_text(hpo::classify_text({.type = {}, .message = in_log}).kind) == message["kind"].get<std::string>());
        CHECK(to_text(hpo::classify_exit({.exit_status = 1, .signal = {}, .last_words = in_log}).kind) ==
              message["kind"].get<std::string>());
    }
}

TEST_CASE("messages that look like missing memory are not told as it") {
    const std::vector<json> messages = lines_of("look_alikes.jsonl");
    CHECK(messages.size() >= 30);
    for (const json& message : messages) {
        const std::string text = message["text"];
        CAPTURE(text);
        const hpo::FailureKind kind = hpo::classify_text({.type = {}, .message = text}).kind;
        CHECK_FALSE(hpo::is_memory(kind));
        CHECK(to_text(kind) == message.value("kind", "trainer_error"));
    }
}
#endif
