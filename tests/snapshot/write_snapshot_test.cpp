// SPDX-License-Identifier: MIT
#include <string>

#include "allocator/random_trace.hpp"
#include "hpo/allocator/replay.hpp"
#include "hpo/allocator/snapshot/reproduction.hpp"
#include "hpo/allocator/snapshot/write_snapshot.hpp"
#include "hpo/core/seed.hpp"
#include "snapshot/random_recording.hpp"
#include "support/catch.hpp"

using namespace hpo::allocator;

TEST_CASE("a trace that is written as a snapshot is read as what the model made of it") {
    hpo::Rng rng{99};
    for (int i = 0; i < 100; ++i) {
        WrittenSettings written;
        std::tie(written.conf, written.settings) = hpo::tests::random_conf(rng);
        AllocationTrace trace = hpo::tests::random_trace(rng, 20 + 2 * i);
        if (i % 3 == 0) trace.emptied = {trace.events.size() / 2};
        for (std::size_t block = 0; block < trace.blocks.size(); ++block) trace.blocks[block].stream = block % 2;
        CAPTURE(i, written.conf);
        const Snapshot read = decode_snapshot({encode_snapshot(trace, written), "f"});
        CHECK(read.settings == written.conf);
        const DeviceHistory history = device_history(read, 0, written.settings);
        const Reproduction found = reproduce(history, written.settings);
        CHECK(history.contradictions == 0);
        CHECK(found.exact());
        CHECK(found.allocations == trace.blocks.size());
        CHECK(found.model_peak == simulate(trace, written.settings).counts.reserved_peak);
        std::int64_t reserved = 0;
        for (const Segment& each : read.segments) reserved += each.bytes;
        CHECK(reserved == simulate(trace, written.settings).counts.reserved);
        if (!found.exact()) return;
    }
}

TEST_CASE("the stack of a written block is its scope and its phase") {
    AllocationTrace trace;
    trace.scopes.emplace_back("encoder aten::mm");
    trace.enter("forward");
    trace.take({.bytes = 100, .scope = 1});
    const Snapshot read = decode_snapshot({encode_snapshot(trace, {}), "f"});
    const Block& block = read.segments.at(0).blocks.at(0);
    const Frame& frame = read.frames.at(read.stacks.at(block.stack).at(0));
    CHECK(read.texts.at(frame.function) == "encoder aten::mm");
    CHECK(read.texts.at(frame.file) == "forward");
}
