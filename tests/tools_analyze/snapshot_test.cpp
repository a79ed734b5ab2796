// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "hpo/base/bytes.hpp"
#include "snapshot/recorder.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"

using namespace hpo::test;
using hpo::tests::mib;
using hpo::tests::PickleWriter;
using hpo::tests::Plain;
using hpo::tests::SnapshotRecorder;
using nlohmann::json;

namespace {

/// Blocks that live in parts of six segments: the usual settings cannot join the rests for the last request.
Plain fragmented() {
    SnapshotRecorder recorder{{}, {.total_bytes = 650 * mib}};
    recorder.begin();
    for (std::size_t i = 0; i < 6; ++i) recorder.take(i, 100 * mib, 0, "activation");
    for (std::size_t i = 0; i < 6; ++i) recorder.give_back(i, 0);
    for (std::size_t i = 10; i < 16; ++i) recorder.take(i, 60 * mib, 0, "keep");
    recorder.take(20, 245 * mib, 0, "whole");
    return recorder.snapshot({}, "");
}

std::string file_of(const Workshop& workshop, const Plain& plain) { return workshop.write("s.pickle", PickleWriter{4}.write(plain)); }
CommandResult analyze(const Workshop& workshop, std::vector<std::string> words) {
    words.insert(words.begin(), {tool("hpo-analyze"), "snapshot"});
    return run_command(workshop, words);
}

}  // namespace

TEST_CASE("a snapshot that ran out of memory says by which line, why, and what to set") {
    const Workshop workshop;
    const CommandResult result = analyze(workshop, {file_of(workshop, fragmented())});
    INFO(result.out << result.error);
    REQUIRE(result.status == 0);
    CHECK(result.out.find("out of memory: 245.00 MiB asked for by user/train.py:10 whole") != std::string::npos);
    CHECK(result.out.find("fragmentation: ") != std::string::npos);
    CHECK(result.out.find("export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True") != std::string::npos);
    CHECK(result.out.find("exact: 12 of 12 allocations at the recorded address") != std::string::npos);
    CHECK(result.out.find("user/train.py:10 keep") != std::string::npos);
    CHECK(result.out.find("(usual)   the recorded settings") != std::string::npos);
}

TEST_CASE("the JSON of a snapshot has what the text says") {
    const Workshop workshop;
    const CommandResult result = analyze(workshop, {file_of(workshop, fragmented()), "--json", "--device-memory", "4GiB"});
    REQUIRE(result.status == 0);
    const json found = json::parse(result.out);
    CHECK(found["replay"]["exact"] == true);
    CHECK(found["out_of_memory"]["requested_bytes"] == 245 * mib);
    CHECK(found["device_memory_bytes"] == 4096 * mib);
    CHECK(found["settings_table"].size() == 10);
    CHECK(found["settings_table"][0]["fits"] == true);
    CHECK(found["settings_table"][0]["settings"] == "");
    for (const json& row : found["settings_table"]) CHECK(row["least_capacity_bytes"] <= row["capacity_without_retry_bytes"]);
}

TEST_CASE("tables of a snapshot are printed as CSV, and the timeline is drawn") {
    const Workshop workshop;
    const std::string file = file_of(workshop, fragmented());
    const auto lines = [&](const std::string& table) {
        const CommandResult result = analyze(workshop, {file, "--csv", table, "--svg", workshop.file("t.svg")});
        CHECK(result.status == 0);
        return std::count(result.out.begin(), result.out.end(), '\n');
    };
    CHECK(lines("settings") == 11);
    CHECK(lines("holders") == 3);
    CHECK(lines("timeline") == 1 + 12 + 6 + 1);
    CHECK(lines("steps") == 1);
    CHECK(read_file(workshop.path("t.svg")).find(">user/train.py:10 keep 360.00 MiB</text>") != std::string::npos);
}

TEST_CASE("a snapshot's picture shows lines or kinds, and what cannot be drawn or asked is one error") {
    const Workshop workshop;
    const std::string file = file_of(workshop, fragmented());
    const auto error_of = [&](std::vector<std::string> words) {
        words.insert(words.begin(), file);
        const CommandResult result = analyze(workshop, words);
        CHECK(result.status == 2);
        CHECK(result.out.empty());
        CHECK(std::count(result.error.begin(), result.error.end(), '\n') == 1);
        return result.error;
    };
    CHECK(error_of({"--svg", workshop.file("t.svg"), "--colour", "kind"}).find("do not tell the kinds") != std::string::npos);
    CHECK(error_of({"--colour", "line"}).find("--svg") != std::string::npos);
    CHECK(error_of({"--svg", workshop.file("absent/t.svg")}).find("--svg: ") != std::string::npos);
    CHECK(error_of({"--study", "a"}).find("--study") != std::string::npos);
    CHECK(error_of({"--store", "a.db"}).find("--store") != std::string::npos);
}

TEST_CASE("a snapshot that gzip packed is read like the snapshot") {
    const Workshop workshop;
    const std::string file = file_of(workshop, fragmented());
    const std::string plain = analyze(workshop, {file, "--json"}).out;
    REQUIRE(run_command(workshop, {"/bin/sh", "-c", "gzip s.pickle"}).status == 0);
    const CommandResult packed = analyze(workshop, {file + ".gz", "--json"});
    CHECK(packed.status == 0);
    json found = json::parse(packed.out);
    CHECK(found["file"] == file + ".gz");
    found["file"] = json::parse(plain)["file"];
    CHECK(found == json::parse(plain));
    REQUIRE(run_command(workshop, {"/bin/sh", "-c", "head -c 100 s.pickle.gz > cut.gz"}).status == 0);
    CHECK(analyze(workshop, {workshop.file("cut.gz")}).error.find("cannot be unpacked: ") != std::string::npos);
}

TEST_CASE("settings of one's own are asked, and refused where their version refuses them") {
    const Workshop workshop;
    const std::string file = file_of(workshop, fragmented());
    const CommandResult own = analyze(workshop, {file, "--allocator", "max_split_size_mb:77", "--csv", "settings"});
    CHECK(own.out.find("max_split_size_mb:77,") != std::string::npos);
    const CommandResult wrong = analyze(workshop, {file, "--allocator", "max_split:1"});
    CHECK(wrong.status == 2);
    CHECK(wrong.error.find("hpo-analyze: error: ") == 0);
    CHECK(std::count(wrong.error.begin(), wrong.error.end(), '\n') == 1);
    CHECK(analyze(workshop, {file, "--libtorch", "9.9"}).error.find("--libtorch: got '9.9'; expected one of 1.13") != std::string::npos);
    CHECK(analyze(workshop, {file, "--device", "3"}).error.find("--device: got 3; expected a device with a history: 0") !=
          std::string::npos);
}

TEST_CASE("what is no snapshot, or says too little, is one error with the way out") {
    const Workshop workshop;
    const auto error_of = [&](const std::string& bytes) {
        const CommandResult result = analyze(workshop, {workshop.write("s.pickle", bytes)});
        CHECK(result.status == 2);
        CHECK(result.out.empty());
        CHECK(std::count(result.error.begin(), result.error.end(), '\n') == 1);
        return result.error;
    };
    const PickleWriter writer{4};
    CHECK(error_of("hello").find("not a pickle") != std::string::npos);
    CHECK(error_of(PickleWriter{4}.write(Plain::tabled({}))).find("no 'segments'") != std::string::npos);
    CHECK(error_of(PickleWriter{4}.write(Plain::tabled({{"segments", Plain::listed()}}))).find("no CUDA device in it") !=
          std::string::npos);
    CHECK(analyze(workshop, {workshop.file("absent")}).status == 2);
}

namespace {

Plain held(std::uint64_t address, std::int64_t size, const char* state, bool with_stack) {
    const Plain frame =
        Plain::tabled({{"filename", Plain::of("/home/me/train.py")}, {"line", Plain::of(std::int64_t{12})}, {"name", Plain::of("build")}});
    return Plain::tabled({{"address", Plain::of(address)},
                          {"size", Plain::of(size)},
                          {"requested_size", Plain::of(size)},
                          {"state", Plain::of(state)},
                          {"frames", Plain::listed(with_stack ? std::vector{frame} : std::vector<Plain>{})}});
}

/// A segment of 40 MiB with two live blocks, one of them with a stack, and these events.
Plain state_with(std::vector<Plain> events) {
    constexpr std::uint64_t begin = 0x7f0000000000;
    const Plain segment = Plain::tabled({{"device", Plain::of(std::int64_t{0})},
                                         {"address", Plain::of(begin)},
                                         {"total_size", Plain::of(40 * mib)},
                                         {"stream", Plain::of(std::int64_t{0})},
                                         {"segment_type", Plain::of("large")},
                                         {"blocks", Plain::listed({held(begin, 20 * mib, "active_allocated", true),
                                                                   held(begin + 20 * mib, 10 * mib, "active_allocated", false),
                                                                   held(begin + 30 * mib, 10 * mib, "inactive", false)})}});
    return Plain::tabled({{"segments", Plain::listed({segment})}, {"device_traces", Plain::listed({Plain::listed(std::move(events))})}});
}

Plain event(const char* action, std::uint64_t address, std::int64_t size) {
    return Plain::tabled(
        {{"action", Plain::of(action)}, {"addr", Plain::of(address)}, {"size", Plain::of(size)}, {"stream", Plain::of(std::int64_t{0})}});
}

}  // namespace

TEST_CASE("a snapshot without a history, or with a single event of it, is explained as a state") {
    const Workshop workshop;
    const auto [events, said] = GENERATE(
        std::pair{std::vector<Plain>{}, "No event of its history was kept"},
        std::pair{std::vector<Plain>{event("snapshot", 0, 1024 * mib)}, "No event of its history was kept"},
        std::pair{std::vector<Plain>{event("free_completed", 0x7f0000000000 + 30 * mib, mib)}, "Only 1 event of its history was kept"});
    const std::string file = file_of(workshop, state_with(events));
    const CommandResult text = analyze(workshop, {file});
    INFO(text.out << text.error);
    CHECK(text.status == 0);
    CHECK(text.out.find(said) != std::string::npos);
    CHECK(text.out.find("reserved 40.00 MiB") != std::string::npos);
    CHECK(text.out.find("held     30.00 MiB by the program") != std::string::npos);
    CHECK(text.out.find("large: 40.00 MiB in 1 segment, 10.00 MiB unused") != std::string::npos);
    CHECK(text.out.find("me/train.py:12 build") != std::string::npos);
    CHECK(text.out.find("(no stack recorded)") != std::string::npos);
    CHECK(text.out.find("from before") == std::string::npos);
    CHECK(text.out.find("max_entries=1_000_000") != std::string::npos);
    CHECK((text.out.find("max_entries was 1,") != std::string::npos) == (std::string{said}.find("Only 1") == 0));
    for (const char* const each : {"exact", "Who holds the peak", "without running out of memory"})
        CHECK(text.out.find(each) == std::string::npos);

    const json found = json::parse(analyze(workshop, {file, "--json"}).out);
    CHECK(found["peak"].is_null());
    CHECK(found["reserved_peak_bytes"].is_null());
    CHECK(found["replay"]["exact"].is_null());
    CHECK(found["state"]["reserved_bytes"] == 40 * mib);
    CHECK(found["state"]["allocated_bytes"] == 30 * mib);
    CHECK(found["state"]["unused_bytes"] == 10 * mib);
    CHECK(found["state"]["pools"].size() == 1);
    CHECK(found["state"]["lines"][0]["bytes"] == 20 * mib);
    CHECK(analyze(workshop, {file, "--csv", "holders"}).out.find("me/train.py:12 build,20971520,1") != std::string::npos);
    CHECK(analyze(workshop, {file, "--svg", workshop.file("x.svg")}).error.find("has no history that could be drawn") != std::string::npos);
    CHECK(run_command(workshop, {tool("hpo-tune"), "trace", file}).error.find("_record_memory_history() before the step") !=
          std::string::npos);
}

TEST_CASE("the peak may be at the beginning, and a caught refusal is no end") {
    const Workshop workshop;
    SnapshotRecorder recorder{{}, {.total_bytes = 1000 * mib}};
    recorder.take(0, 800 * mib, 0, "warm_up");
    recorder.give_back(0, 0);
    recorder.begin();
    recorder.empty_cache();
    recorder.take(1, 1200 * mib, 0, "too_much");
    recorder.take(2, 100 * mib, 0, "less");
    const CommandResult result = analyze(workshop, {file_of(workshop, recorder.snapshot({}, ""))});
    INFO(result.out << result.error);
    CHECK(result.out.find("peak     800.00 MiB reserved") != std::string::npos);
    CHECK(result.out.find("after which the program went on") != std::string::npos);
    CHECK(result.out.find("0 blocks and 800.00 MiB reserved") != std::string::npos);
    CHECK(analyze(workshop, {workshop.file("s.pickle"), "--json", "--csv", "settings"}).status == 2);
}

TEST_CASE("nothing is proposed where the requests alone do not run out of memory") {
    // Five segments of 200 MiB are there before the recording, and 120 MiB live in each.
    const Workshop workshop;
    SnapshotRecorder recorder{{}, {.total_bytes = 1100 * mib}};
    for (std::size_t i = 0; i < 5; ++i) recorder.take(i, 200 * mib, 0, "warm_up");
    for (std::size_t i = 0; i < 5; ++i) recorder.give_back(i, 0);
    for (std::size_t i = 10; i < 15; ++i) recorder.take(i, 120 * mib, 0, "keep");
    recorder.begin();
    REQUIRE_FALSE(recorder.take(20, 300 * mib, 0, "whole"));
    const CommandResult result = analyze(workshop, {file_of(workshop, recorder.snapshot({}, ""))});
    INFO(result.out << result.error);
    CHECK(result.out.find("cause    fragmentation") != std::string::npos);
    CHECK(result.out.find("set      nothing is proposed: the requests alone do not run out of memory at 1.07 GiB") != std::string::npos);
    CHECK(result.out.find("the table begins with the live blocks only") != std::string::npos);
    CHECK(result.out.find("No optimizer step was found in the stacks") != std::string::npos);
}

TEST_CASE("what was recorded is told where the replay is not exact, and then nothing is proposed") {
    const Workshop workshop;
    SnapshotRecorder recorder{{}, {}};
    recorder.begin();
    for (std::size_t i = 0; i < 8; ++i) recorder.take(i, (30 + 7 * static_cast<std::int64_t>(i)) * mib, 0, "line");
    const std::string recorded = hpo::format_bytes(recorder.reserved());
    const CommandResult result = analyze(workshop, {file_of(workshop, recorder.snapshot({}, "roundup_power2_divisions:1"))});
    CHECK(result.out.find("exact: 8 of 8") != std::string::npos);
    const CommandResult wrong = analyze(workshop, {file_of(workshop, recorder.snapshot({}, "roundup_power2_divisions:2"))});
    INFO(wrong.out << wrong.error);
    CHECK(wrong.out.find("peak     " + recorded + " reserved, with at least") != std::string::npos);
    CHECK(wrong.out.find("nothing is proposed: the replay is not what was recorded") != std::string::npos);
}

TEST_CASE("expandable segments that were set without effect are left out and not proposed") {
    const Workshop workshop;
    SnapshotRecorder recorder{{}, {}};
    recorder.begin();
    for (std::size_t i = 0; i < 8; ++i) {
        recorder.take(i, (300 + 50 * static_cast<std::int64_t>(i)) * mib, 0, "line");
        recorder.give_back(i, 0);
    }
    const CommandResult result = analyze(workshop, {file_of(workshop, recorder.snapshot({}, "expandable_segments:True")), "--json"});
    const json found = json::parse(result.out);
    CHECK(found["replay"]["exact"] == true);
    CHECK(found["notes"][0].get<std::string>().find("expandable_segments:True was recorded") == 0);
    for (const json& row : found["settings_table"]) CHECK(row["settings"].get<std::string>().find("expandable") == std::string::npos);
}

TEST_CASE("a request that the device had room for was refused by a limit") {
    const Workshop workshop;
    Plain plain = fragmented();
    for (Plain& event : plain.items[3].items[0].items) {
        for (std::size_t i = 0; i + 1 < event.items.size(); i += 2) {
            if (event.items[i].text == "device_free") event.items[i + 1] = Plain::of(2000 * mib);
        }
    }
    const CommandResult result = analyze(workshop, {file_of(workshop, plain)});
    INFO(result.out << result.error);
    CHECK(result.out.find("cause    unknown: the device had room for the request") != std::string::npos);
    CHECK(result.out.find("nothing is proposed: a limit of the allocator refused") != std::string::npos);
}
