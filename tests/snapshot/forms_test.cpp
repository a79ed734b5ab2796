// SPDX-License-Identifier: MIT
//
// What a snapshot may hold beside one device and the default pools.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/allocator/snapshot/reproduction.hpp"
#include "hpo/allocator/snapshot/source_lines.hpp"
#include "hpo/allocator/snapshot/write_snapshot.hpp"
#include "snapshot/recorder.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"

using namespace hpo::allocator;
using hpo::tests::mib;
using hpo::tests::PickleWriter;
using hpo::tests::Plain;
using hpo::tests::SnapshotRecorder;

namespace {

Plain& entry(Plain& table, std::string_view key) {
    for (std::size_t i = 0; i + 1 < table.items.size(); i += 2) {
        if (table.items[i].text == key) return table.items[i + 1];
    }
    throw std::runtime_error{"no entry " + std::string{key}};
}
void for_each_table(Plain& plain, std::string_view key, const std::function<void(Plain& table)>& visit) {
    for (std::size_t i = 0; i < plain.items.size(); ++i) {
        for_each_table(plain.items[i], key, visit);
        if (plain.kind == Plain::table && i % 2 == 0 && plain.items[i].text == key) visit(plain);
    }
}
Snapshot snapshot_of(const Plain& plain) { return decode_snapshot({PickleWriter{4}.write(plain), "f"}); }

/// Blocks of two streams that come and go, the larger ones `scale` times as large.
Plain two_streams(std::int64_t scale) {
    SnapshotRecorder recorder{{}, {}};
    recorder.begin();
    for (std::size_t i = 0; i < 24; ++i) {
        recorder.take(i, (i % 3 == 0 ? 700'000 : scale * mib * static_cast<std::int64_t>(1 + i % 5)), i % 2, "line");
        if (i % 4 == 3) recorder.give_back(i - 2, (i - 2) % 2);
    }
    return recorder.snapshot({}, "");
}

}  // namespace

TEST_CASE("the devices of a snapshot have addresses of their own") {
    Plain both = two_streams(3);
    Plain second = two_streams(7);
    for (Plain& segment : entry(second, "segments").items) {
        entry(segment, "device") = Plain::of(std::int64_t{2});
        entry(both, "segments").items.push_back(segment);
    }
    entry(both, "device_traces").items.push_back(Plain::listed());
    entry(both, "device_traces").items.push_back(entry(second, "device_traces").items[0]);
    const Snapshot found = snapshot_of(both);
    CHECK(found.devices() == std::vector<int>{0, 2});
    for (const int device : found.devices()) {
        const DeviceHistory history = device_history(found, device, {});
        CHECK(history.contradictions == 0);
        CHECK(history.earlier.empty());
        const Reproduction replay = reproduce(history, {});
        CHECK(replay.exact());
        CHECK(replay.allocations == 24);
    }
}

TEST_CASE("a private pool is told by the number of its segments, not by its stream") {
    Plain one_stream = two_streams(3);
    const auto first = [](Plain& table) { entry(table, "stream") = Plain::of(std::int64_t{0}); };
    for (Plain& segment : entry(one_stream, "segments").items) {
        if (entry(segment, "stream").integer == 1)
            entry(segment, "segment_pool_id") = Plain::tupled({Plain::of(std::int64_t{0}), Plain::of(std::int64_t{7})});
    }
    for_each_table(one_stream, "stream", first);
    const DeviceHistory history = device_history(snapshot_of(one_stream), 0, {});
    CHECK(history.pools.size() == 2);
    CHECK(reproduce(history, {}).exact());
    CHECK(requested_trace(history).private_streams.size() == 1);

    // Without the numbers, both would share their blocks.
    for_each_table(one_stream, "segment_pool_id", [](Plain& table) {
        entry(table, "segment_pool_id") = Plain::tupled({Plain::of(std::int64_t{0}), Plain::of(std::int64_t{0})});
    });
    CHECK_FALSE(reproduce(device_history(snapshot_of(one_stream), 0, {}), {}).exact());
}

TEST_CASE("a stream may have any number, and one below 0") {
    Plain plain = two_streams(3);
    for_each_table(plain, "stream", [](Plain& table) {
        if (entry(table, "stream").integer == 1) entry(table, "stream") = Plain::of(std::int64_t{-140'735'340'871'680});
    });
    const DeviceHistory history = device_history(snapshot_of(plain), 0, {});
    CHECK(history.contradictions == 0);
    CHECK(history.pools.size() == 2);
    CHECK(reproduce(history, {}).exact());
}

TEST_CASE("a block whose free waits for another stream is still there") {
    SnapshotRecorder recorder{{}, {}};
    recorder.begin();
    for (std::size_t i = 0; i < 3; ++i) recorder.take(i, 30 * mib, 0, "line");
    recorder.ask_back(1, 0);
    recorder.take(3, 30 * mib, 0, "line");  // not where block 1 is
    const Snapshot found = snapshot_of(recorder.snapshot({}, ""));
    const DeviceHistory history = device_history(found, 0, {});
    CHECK(history.contradictions == 0);
    const Reproduction replay = reproduce(history, {});
    CHECK(replay.exact());
    CHECK(replay.held.back().allocated == 120 * mib);
}

TEST_CASE("usual and expandable segments in one recording are noticed") {
    Plain plain = two_streams(3);
    entry(entry(plain, "segments").items[0], "is_expandable") = Plain::yes(true);
    const DeviceHistory history = device_history(snapshot_of(plain), 0, {});
    CHECK(history.mixed);
    CHECK_FALSE(device_history(snapshot_of(two_streams(3)), 0, {}).mixed);
}

TEST_CASE("a written snapshot names its scopes and phases when it is read again") {
    AllocationTrace trace;
    trace.scopes = {"", "model.encoder aten::linear", "model.head aten::linear"};
    trace.phases = {{0, "build"}, {1, "forward"}, {2, "backward"}, {3, "step"}};
    for (const std::uint32_t scope : {1U, 2U, 2U, 1U}) trace.take({.bytes = 3 * mib, .scope = scope});
    const Snapshot found = decode_snapshot({encode_snapshot(trace, {}), "f"});
    const DeviceHistory history = device_history(found, 0, {});
    AllocationTrace again = requested_trace(history);
    describe_trace(again, history, SourceLines{found});
    CHECK(again.scopes[again.blocks[0].scope] == "model.encoder aten::linear");
    CHECK(again.scopes[again.blocks[2].scope] == "model.head aten::linear");
    const SourceLines lines{found};
    using enum SourceLines::Part;
    CHECK(lines.part(history.blocks[0].stack) == build);
    CHECK(lines.part(history.blocks[1].stack) == forward);
    CHECK(lines.part(history.blocks[2].stack) == backward);
    CHECK(lines.part(history.blocks[3].stack) == step);
}
