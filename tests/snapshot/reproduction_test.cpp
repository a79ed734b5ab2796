// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "allocator/snapshot/foreign_allocator.hpp"
#include "hpo/allocator/conf.hpp"
#include "hpo/allocator/replay.hpp"
#include "hpo/allocator/snapshot/recording.hpp"
#include "hpo/core/seed.hpp"
#include "snapshot/random_recording.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"

using namespace hpo::allocator;

using hpo::tests::mib;

TEST_CASE("a recording of each of PyTorch's forms is reproduced to the address") {
    hpo::Rng rng{2024};
    for (const hpo::tests::SnapshotForm& form : hpo::tests::snapshot_forms()) {
        for (int i = 0; i < 60; ++i) {
            const auto recording = hpo::tests::random_recording(rng, 20 + 3 * i, form);
            CAPTURE(i, form.protocol, recording.conf);
            const Snapshot read = decode_snapshot({recording.bytes, "here"});
            const DeviceHistory history = device_history(read, 0, recording.settings);
            const Reproduction found = reproduce(history, recording.settings);
            CHECK(history.contradictions == 0);
            CHECK(found.allocations == recording.served);
            CHECK(found.same_address == recording.served);
            CHECK(found.same_changes == found.segment_changes);
            CHECK(found.refused == recording.refused);
            CHECK(found.same_refused == recording.refused);
            CHECK(found.model_peak == found.recorded_peak);
            CHECK(found.recorded_peak == recording.reserved_peak);
            if (!found.exact()) return;  // one is enough to read
        }
    }
}

TEST_CASE("the recordings of a folder are reproduced to the address") {
    const char* const folder = std::getenv("HPO_GPU_RECORDINGS");
    if (folder == nullptr) {
        std::cout << "skipped: HPO_GPU_RECORDINGS names no folder of memory snapshots that PyTorch wrote\n";
        return;
    }
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator{folder}) {
        if (entry.path().extension() != ".pickle") continue;
        CAPTURE(entry.path());
        if (is_from_npu(read_snapshot(entry.path()))) continue;
        for (const int device : open_recording(entry.path()).devices) {
            const Recording recording = open_recording(entry.path(), {.device = device, .version = {}});
            const DeviceHistory& history = recording.history;
            const Reproduction& found = recording.replay;
            CHECK(history.contradictions == 0);
            CHECK(found.exact());
            for (std::size_t i = 0; i < history.requests.size(); ++i) {
                // With the capacity at which it ran out, and nothing else of the device's answers, it runs out there again.
                const Request& request = history.requests[i];
                if (request.kind != Request::Kind::refused) continue;
                const std::int64_t capacity = found.held[i].reserved + recording.snapshot.events_of(device)[request.event].device_free;
                CHECK(refused_at_capacity(history, recording.settings, capacity) == std::vector<std::size_t>{i});
            }
        }
        ++files;
    }
    CHECK(files > 0);
}

// A published measurement: pytorch issue 123548, on a card of 16 GiB. 64 MiB stay; then each cycle takes 91, 45.5 and 2 MiB and gives the
// first two back.
TEST_CASE("max_split_size_mb:128 with expandable segments grows as it was measured") {
    const auto after = [](const std::string& conf) {
        CachingAllocator allocator{read_allocator_conf(conf, {2, 11}), {.total_bytes = 16 * 1024 * mib}};
        static_cast<void>(allocator.take(64 * mib));
        std::vector<std::int64_t> mebibytes;
        for (int cycle = 0; cycle <= 100; ++cycle) {
            const auto first = allocator.take(91 * mib);
            const auto second = allocator.take(91 * mib / 2);
            static_cast<void>(allocator.take(2 * mib));
            if (!first || !second) break;
            allocator.give_back(*first);
            allocator.give_back(*second);
            if (cycle % 20 != 0) continue;
            mebibytes.push_back(allocator.counts().reserved / mib);
            mebibytes.push_back(allocator.counts().allocated / mib);
        }
        return mebibytes;
    };
    CHECK(after("max_split_size_mb:128,expandable_segments:True") ==
          std::vector<std::int64_t>{220, 66, 2980, 106, 5760, 146, 8520, 186, 11300, 226, 14060, 266});
    CHECK(after("max_split_size_mb:128")[10] >= 420);
    CHECK(after("max_split_size_mb:128")[10] <= 422);
    CHECK(after("expandable_segments:True")[10] >= 420);
    CHECK(after("expandable_segments:True")[10] <= 422);
}
