// SPDX-License-Identifier: MIT
#include <cstdint>
#include <string>
#include <vector>

#include "allocator/snapshot/foreign_allocator.hpp"
#include "hpo/allocator/snapshot/growth.hpp"
#include "hpo/allocator/snapshot/reproduction.hpp"
#include "hpo/allocator/snapshot/source_lines.hpp"
#include "hpo/allocator/snapshot/what_if.hpp"
#include "hpo/allocator/snapshot/write_snapshot.hpp"
#include "snapshot/recorder.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"

using namespace hpo::allocator;
using hpo::tests::mib;
using hpo::tests::PickleWriter;
using hpo::tests::Plain;
using hpo::tests::SnapshotForm;
using hpo::tests::SnapshotRecorder;

namespace {

Snapshot read(const Plain& plain) { return decode_snapshot({PickleWriter{4}.write(plain), "f"}); }
std::string error_of(const Plain& plain) {
    try {
        static_cast<void>(read(plain));
    } catch (const hpo::Error& error) {
        return error.what();
    }
    return "";
}
Plain segment(std::vector<Plain> blocks, std::int64_t bytes) {
    return Plain::tabled({{"address", Plain::of(std::int64_t{1} << 40)},
                          {"total_size", Plain::of(bytes)},
                          {"device", Plain::of(std::int64_t{0})},
                          {"stream", Plain::of(std::int64_t{0})},
                          {"segment_type", Plain::of("small")},
                          {"blocks", Plain::listed(std::move(blocks))}});
}
Plain block(std::int64_t bytes, std::int64_t requested) {
    return Plain::tabled({{"size", Plain::of(bytes)}, {"requested_size", Plain::of(requested)}, {"state", Plain::of("active_allocated")}});
}

/// Five steps: a line keeps 1 MiB more after each, and another gives back what it takes.
AllocationTrace leaking_steps() {
    AllocationTrace trace;
    trace.scopes = {"", "leak.py:1 f", "model.py:2 forward"};
    trace.enter("build");
    trace.take({.bytes = 10 * mib, .scope = 2});
    for (int step = 0; step < 5; ++step) {
        trace.phases.push_back({trace.events.size(), "forward"});
        trace.take({.bytes = mib, .scope = 1});
        const std::int64_t activation = trace.take({.bytes = 8 * mib, .scope = 2});
        trace.phases.push_back({trace.events.size(), "step"});
        trace.give_back(activation);
    }
    return trace;
}

}  // namespace

TEST_CASE("a pickle that is no snapshot says so, and what writes one") {
    CHECK(error_of(Plain::tabled({{"weights", Plain::listed()}})) ==
          "f: a pickle, but no memory snapshot: it has no 'segments'; torch.cuda.memory._dump_snapshot() writes a snapshot");
    CHECK(error_of(Plain::of(std::int64_t{3})).find("neither a dictionary nor a list of segments") != std::string::npos);
    CHECK(error_of(Plain::listed({Plain::of("x")})).find("a segment is no dictionary") != std::string::npos);
}

TEST_CASE("a damaged snapshot says where") {
    const auto with = [](Plain one) { return Plain::tabled({{"segments", Plain::listed({std::move(one)})}}); };
    CHECK(error_of(with(segment({block(512, 4)}, 1024))).find("segment 0: the sum of its blocks is not its size") != std::string::npos);
    CHECK(error_of(with(segment({block(0, 4)}, 1024))).find("segment 0: a block's size is not above 0") != std::string::npos);
    CHECK(error_of(with(segment({block(512, 4)}, -1))).find("segment 0: total_size is not a size") != std::string::npos);
    const Plain event =
        Plain::tabled({{"action", Plain::of("alloc")}, {"size", Plain::of(std::int64_t{4})}, {"stream", Plain::of(std::int64_t{0})}});
    CHECK(error_of(Plain::tabled({{"segments", Plain::listed()}, {"device_traces", Plain::listed({Plain::listed({event})})}})) ==
          "f: damaged memory snapshot: device 0, event 0: no 'addr'");
}

TEST_CASE("a snapshot without history has a state only") {
    const Snapshot found = read(Plain::tabled({{"segments", Plain::listed({segment({block(1024, 600)}, 1024)})}}));
    CHECK_FALSE(found.has_history());
    CHECK(found.devices() == std::vector<int>{0});
    CHECK(found.segments[0].blocks[0].requested_bytes == 600);
    CHECK(read(Plain::tabled({{"segments", Plain::listed()}})).devices().empty());
}

TEST_CASE("the allocator that pads each request by 32 bytes is noticed") {
    const auto with = [](std::vector<Plain> blocks, std::int64_t bytes) {
        return read(Plain::tabled({{"segments", Plain::listed({segment(std::move(blocks), bytes)})}}));
    };
    CHECK(is_from_npu(with({block(1024, 512), block(1536, 1000), block(512, 100)}, 3072)));
    CHECK_FALSE(is_from_npu(with({block(1024, 512), block(512, 100)}, 1536)));  // one block may have another reason
    Snapshot divided = with({block(9216, 8700), block(1024, 512)}, 10240);
    divided.settings = "roundup_power2_divisions:8";
    CHECK_FALSE(is_from_npu(divided));
    CHECK_FALSE(is_from_npu(with({block(512, 511), block(512, 100)}, 1024)));
    CHECK_FALSE(is_from_npu(with({block(512, 100), block(512, 100)}, 1024)));   // both would round so
    CHECK_FALSE(is_from_npu(with({block(1024, 512), block(512, 508)}, 1536)));  // divisions between powers of two, say
}

TEST_CASE("the line of a block is the innermost of the user's own") {
    SnapshotRecorder recorder{{}, {}};
    recorder.begin();
    recorder.take(0, 100, 0, "forward");
    const Snapshot found = read(recorder.snapshot({}, ""));
    const DeviceHistory history = device_history(found, 0, {});
    const SourceLines lines{found};
    CHECK(lines.holder(history.blocks[0]) == "user/train.py:10 forward");
    CHECK(lines.part(history.blocks[0].stack) == SourceLines::Part::forward);
    CHECK(lines.holder(RecordedBlock{}) == "(from before the recording)");
    CHECK(lines.holder(RecordedBlock{.taken = 3}) == "(no stack recorded)");
}

TEST_CASE("missing events are noticed") {
    SnapshotRecorder recorder{{}, {}};
    recorder.begin();
    for (std::size_t i = 0; i < 4; ++i) recorder.take(i, 100'000, 0, "a");
    recorder.give_back(1, 0);
    Plain whole = recorder.snapshot({}, "");
    CHECK(device_history(read(whole), 0, {}).contradictions == 0);
    Plain& events = whole.items[3].items[0];
    events.items.erase(events.items.end() - 1);  // the end of block 1
    CHECK(device_history(read(whole), 0, {}).contradictions > 0);
}

TEST_CASE("a private pool keeps its segments when the cache is emptied") {
    CachingAllocator allocator{AllocatorSettings{}};
    allocator.keep(1);
    const auto usual = allocator.take(30 * mib, 0);
    const auto graph = allocator.take(40 * mib, 1);
    allocator.give_back(*usual);
    allocator.give_back(*graph);
    allocator.empty_cache();
    CHECK(allocator.counts().reserved == 40 * mib);
    CHECK_FALSE(allocator.has_cached(30 * mib, 0));
    CHECK(allocator.has_cached(30 * mib, 1));
}

TEST_CASE("a stream does not get what another one gave back") {
    CachingAllocator allocator{AllocatorSettings{}};
    allocator.give_back(allocator.take(30 * mib, 0).value());
    static_cast<void>(allocator.take(30 * mib, 1));
    CHECK(allocator.counts().reserved == 60 * mib);
    static_cast<void>(allocator.take(30 * mib, 0));
    CHECK(allocator.counts().reserved == 60 * mib);
}

TEST_CASE("what grows at every step is named with its bytes") {
    const AllocationTrace trace = leaking_steps();
    const auto steps = traced_steps(trace);
    REQUIRE(steps.size() == 5);
    CHECK(steps[0].peak == 19 * mib);
    CHECK(steps[4].held == 15 * mib);
    const auto growing = growing_scopes(trace, steps);
    REQUIRE(growing.size() == 1);
    CHECK(growing[0].scope == "leak.py:1 f");
    CHECK(growing[0].bytes_per_step == mib);
    CHECK(growing[0].steps == 3);
    CHECK(growing_scopes(trace, {steps.begin(), steps.begin() + 3}).empty());
}

TEST_CASE("expandable segments are worth setting where large blocks of many sizes come and go") {
    AllocationTrace trace;
    for (int i = 0; i < 20; ++i) trace.give_back(trace.take({.bytes = (100 + 30 * i) * mib}));
    const WhatIfQuestion question{.device_bytes = 1024 * mib};
    std::vector<WhatIf> rows;
    for (const std::string& conf : usual_what_ifs(question)) rows.push_back(what_if(trace, conf, question));
    REQUIRE(rows[1].conf == "expandable_segments:True");
    CHECK(rows[1].reserved_peak == 680 * mib);
    CHECK(rows[0].fits == true);
    CHECK(*rows[0].retries > 0);
    CHECK(rows[1].retries == 0);
    CHECK(worth_setting(rows) == 1U);
    for (WhatIf& each : rows) each.fits = {}, each.retries = {};
    CHECK(worth_setting(rows) == 1U);
    rows[1].capacity_without_retry = rows[0].capacity_without_retry - 100 * mib;  // too little to be worth it
    rows.resize(2);
    CHECK(worth_setting(rows) == std::nullopt);
}

TEST_CASE("a version is asked only about settings that it knows") {
    for (const std::string& conf : usual_what_ifs({.version = {1, 13}, .device_bytes = {}}))
        CHECK(conf.find("expandable") == std::string::npos);
    CHECK(usual_what_ifs({}).size() == 9);
    CHECK(usual_what_ifs({.device_bytes = mib}).size() == 10);
}

TEST_CASE("what is taken while an annotated optimizer step runs belongs to the step") {
    SnapshotRecorder recorder{{}, {}};
    recorder.begin();
    recorder.take(0, 100, 0, "forward");
    recorder.take(1, 100, 0, "own_update");
    Plain plain = recorder.snapshot({}, "");
    const std::int64_t base = 1'700'000'000'000'000;  // the recorder's first event is at this time
    const auto annotation = [&](const char* stage, std::int64_t time) {
        return Plain::tabled({{"stage", Plain::of(stage)},
                              {"name", Plain::of("Optimizer.step#AdamW.step")},
                              {"device", Plain::of(std::int64_t{0})},
                              {"time_us", Plain::of(time)}});
    };
    plain.items.push_back(Plain::of("external_annotations"));
    plain.items.push_back(Plain::listed({annotation("START", base + 2), annotation("END", base + 9)}));
    const Snapshot found = read(plain);
    const DeviceHistory history = device_history(found, 0, {});
    const SourceLines lines{found};
    CHECK(lines.part(history, history.blocks[0]) == SourceLines::Part::forward);
    CHECK(lines.part(history, history.blocks[1]) == SourceLines::Part::step);
}

TEST_CASE("annotations tell the steps of an optimizer that takes no memory") {
    SnapshotRecorder recorder{{}, {}};
    recorder.begin();
    std::vector<Plain> annotations;
    for (std::size_t step = 0; step < 6; ++step) {
        recorder.take(2 * step, 30 * mib, 0, "leak");
        recorder.take(2 * step + 1, 40 * mib, 0, "forward");
        recorder.give_back(2 * step + 1, 0);
        for (const char* const stage : {"START", "END"}) {
            annotations.push_back(Plain::tabled({{"stage", Plain::of(stage)},
                                                 {"name", Plain::of("Optimizer.step#SGD.step")},
                                                 {"device", Plain::of(std::int64_t{0})},
                                                 {"time_us", Plain::of(recorder.last_time())}}));
        }
    }
    Plain plain = recorder.snapshot({}, "");
    plain.items.push_back(Plain::of("external_annotations"));
    plain.items.push_back(Plain::listed(std::move(annotations)));
    const Snapshot found = read(plain);
    const DeviceHistory history = device_history(found, 0, {});
    AllocationTrace trace = requested_trace(history);
    describe_trace(trace, history, SourceLines{found});
    const auto steps = traced_steps(trace);
    CHECK(steps.size() == 6);
    const auto growing = growing_scopes(trace, steps);
    REQUIRE(growing.size() == 1);
    CHECK(growing[0].scope == "user/train.py:10 leak");
}

TEST_CASE("a device that is smaller than a request refuses it with expandable segments, too") {
    CachingAllocator allocator{AllocatorSettings{.expandable_segments = true}, {.total_bytes = 0}};
    CHECK_FALSE(allocator.take(4));
    AllocationTrace trace;
    trace.take({.bytes = 4});
    CHECK(what_if(trace, "expandable_segments:True", {}).least_capacity == 2 * mib);
}

TEST_CASE("a list that is named many times is refused before it takes memory") {
    // One list of 2,000 blocks, which the memo gives to each of 2,000 segments.
    std::vector<Plain> blocks(2000, block(512, 4));
    const std::string all = PickleWriter{4}.write(segment(std::move(blocks), 2000 * 512));
    const std::string body = all.substr(2, all.size() - 3);  // one dictionary; its memo number is 0
    std::string bytes = "\x80\x04}(\x8c\x08segments](" + body;
    for (int i = 0; i < 2000; ++i) bytes += std::string{"h\0", 2};
    bytes += "eu.";
    CHECK_THROWS_WITH(decode_snapshot({bytes, "f"}), Catch::Contains("it repeats more than"));
}

TEST_CASE("an expandable segment of 90 GiB is written apart from the next one") {
    AllocationTrace trace;
    trace.take({.bytes = std::int64_t{90} << 30});
    for (int i = 0; i < 3; ++i) trace.take({.bytes = 1000});
    const WrittenSettings written{.settings = {.expandable_segments = true}, .conf = "expandable_segments:True"};
    const Snapshot found = decode_snapshot({encode_snapshot(trace, written), "f"});
    CHECK(reproduce(device_history(found, 0, written.settings), written.settings).exact());
}
