// SPDX-License-Identifier: MIT
// LibTorch's own history of its caching allocator, over a CUDA runtime that only counts. No card is needed.
#include "torch/prediction/cuda_history.hpp"

#include <cstdint>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hpo/allocator/replay.hpp"
#include "hpo/base/error.hpp"
#include "hpo/torch/recording/trace_recorder.hpp"
#include "support/catch.hpp"
#include "torch_allocator/native_replay.hpp"

using namespace hpo::tests;
using hpo::allocator::AllocationTrace;
using hpo::allocator::ReplayedTrace;
using hpo::libtorch::CudaHistory;
using hpo::libtorch::trace_of_history;
using Entry = c10::CachingDeviceAllocator::TraceEntry;
namespace native = c10::cuda::CUDACachingAllocator;

namespace {

struct Happened {
    Entry::Action action;
    std::size_t address;
    std::size_t bytes;
    std::string phase{};
    void* stream = nullptr;
    c10::MempoolId_t pool{0, 0};
};

std::vector<Entry> entries(const std::vector<Happened>& story) {
    std::vector<Entry> result;
    for (const Happened& each : story)
        result.emplace_back(each.action, c10::DeviceIndex{0}, each.address, each.bytes, each.stream, each.pool, 0, nullptr, "", each.phase);
    return result;
}

enum Verdict { reserved_same, all_same, differs, not_the_trace, verdicts };

/// Records a replay, and replays what was recorded.
Verdict record_and_replay(std::uint64_t number) {
    const RandomReplay replay = random_replay(number);
    prepare_allocator(replay);
    CudaHistory history;
    const ReplayedTrace real = replay_natively(replay.trace);
    const AllocationTrace recorded = history.finish();
    AllocationTrace served;  // what was asked for before a request was refused
    const std::size_t end = real.refused ? real.refused->event : replay.trace.events.size();
    for (std::size_t i = 0; i < end; ++i) {
        const std::int64_t event = replay.trace.events[i];
        if (event < 0) served.give_back(-1 - event);
        else static_cast<void>(served.take(replay.trace.blocks[static_cast<std::size_t>(event)]));
    }
    if (!history.began_empty() || recorded != served) return not_the_trace;
    const ReplayedTrace model = simulate(recorded, replay.settings, replay.device);
    if (!model.survived() || model.counts.reserved_peak != real.counts.reserved_peak) return differs;
    const bool all = model.counts.requested_peak == real.counts.requested_peak && model.counts.allocated_peak == real.counts.allocated_peak;
    return all ? all_same : reserved_same;
}

}  // namespace

TEST_CASE("a recorded history of LibTorch's allocator replayed through the model reserves what LibTorch reserved") {
    constexpr int traces = 5000;
    int counts[verdicts] = {};
    for (int number = 1; number <= traces; ++number) {
        const int verdict = in_own_process([&] { return record_and_replay(static_cast<std::uint64_t>(100000 + number)); });
        CAPTURE(number);
        REQUIRE(verdict >= 0);
        ++counts[verdict];
        CHECK(verdict != not_the_trace);
    }
    const auto share = [](int count) { return 100.0 * count / traces; };
    std::cout << "recorded histories with the reserved peak of LibTorch's statistics: " << share(counts[reserved_same] + counts[all_same])
              << " % of " << traces << ", with every peak: " << share(counts[all_same]) << " %\n";
    CHECK(share(counts[reserved_same] + counts[all_same]) >= 95);
    CHECK(share(counts[all_same]) >= 95);
}

TEST_CASE("a history becomes a trace: sizes as asked for, in order, by phase, given back when the block is free again") {
    const auto story = entries({{Entry::ALLOC, 0x1000, 100},
                                {Entry::SEGMENT_ALLOC, 0x2000, 2 << 20},
                                {Entry::ALLOC, 0x2000, 700, "forward"},
                                {Entry::FREE_REQUESTED, 0x1000, 100, "forward"},
                                {Entry::ALLOC, 0x3000, 5, "backward"},
                                {Entry::FREE_COMPLETED, 0x1000, 100},
                                {Entry::OOM, 4096, 1 << 30, "backward"},
                                {Entry::FREE_REQUESTED, 0x9000, 64, "step"},
                                {Entry::FREE_COMPLETED, 0x9000, 64, "step"},
                                {Entry::ALLOC, 0x1000, 300, "step"},
                                {Entry::SNAPSHOT, 0, 0}});
    AllocationTrace expected;
    const auto first = expected.take({.bytes = 100});
    expected.enter("forward");
    static_cast<void>(expected.take({.bytes = 700}));
    expected.enter("backward");
    static_cast<void>(expected.take({.bytes = 5}));
    expected.give_back(first);
    expected.enter("step");
    static_cast<void>(expected.take({.bytes = 300}));
    CHECK(trace_of_history(story) == expected);
}

TEST_CASE("a history of what the model does not have is refused") {
    int stream = 0;
    CHECK_THROWS_WITH(trace_of_history(entries({{Entry::ALLOC, 0x1000, 100, "", &stream}})),
                      "CUDA history: got a block of a further stream; expected blocks of the default stream");
    CHECK_THROWS_WITH(trace_of_history(entries({{Entry::ALLOC, 0x1000, 100, "", nullptr, {0, 1}}})),
                      "CUDA history: got a block of a private pool; expected blocks of the common pools");
}

TEST_CASE("a training's own phases are those of the history, until it ends") {
    const int verdict = in_own_process([] {
        CudaHistory history;
        auto& training = hpo::libtorch::TraceRecorder::instance();
        training.enter("forward");
        void* const activation = native::raw_alloc(1000);
        training.enter("backward");
        native::raw_delete(activation);
        AllocationTrace expected;
        expected.enter("forward");
        const auto first = expected.take({.bytes = 1000});
        expected.enter("backward");
        expected.give_back(first);
        const bool same = history.finish() == expected;
        training.enter("step");  // nobody listens
        return same ? 1 : 0;
    });
    CHECK(verdict == 1);
}

TEST_CASE("a recording knows phases, and blocks of other threads go with them") {
    const int verdict = in_own_process([] {
        CudaHistory history;
        CudaHistory::enter("forward");
        void* const activation = native::raw_alloc(1000);
        CudaHistory::enter("backward");
        void* const root = native::raw_alloc(4);
        std::thread{[&] {
            native::raw_delete(activation);
            static_cast<void>(native::raw_alloc(2000));
        }}.join();
        CudaHistory::enter("step");
        native::raw_delete(root);
        AllocationTrace expected;
        expected.enter("forward");
        const auto first = expected.take({.bytes = 1000});
        expected.enter("backward");
        const auto second = expected.take({.bytes = 4});
        expected.give_back(first);
        static_cast<void>(expected.take({.bytes = 2000}));
        expected.enter("step");
        expected.give_back(second);
        return history.finish() == expected ? 1 : 0;
    });
    CHECK(verdict == 1);
}

TEST_CASE("a recording that began with memory in use says so and leaves it out") {
    const int verdict = in_own_process([] {
        native::init(1);
        void* const before = native::raw_alloc(1000);
        CudaHistory history;
        native::raw_delete(before);
        void* const during = native::raw_alloc(2000);
        native::raw_delete(during);
        AllocationTrace expected;
        expected.give_back(expected.take({.bytes = 2000}));
        return !history.began_empty() && history.finish() == expected ? 1 : 0;
    });
    CHECK(verdict == 1);
}

TEST_CASE("a history that was overwritten is an error, and so is a second one at a time") {
    const auto message = [](const auto& work) {
        try {
            work();
        } catch (const hpo::Error& error) {
            return std::string{error.what()};
        }
        return std::string{};
    };
    const int verdict = in_own_process([&] {
        {
            CudaHistory first;
            if (message([] { CudaHistory second; }) != "CUDA history: one is being kept already") return 2;
        }
        CudaHistory history{{.most_entries = 6}};  // of a taken and given back block: alloc, free_requested, free_completed; a segment
        native::raw_delete(native::raw_alloc(1000));
        native::raw_delete(native::raw_alloc(1000));
        if (message([&] { static_cast<void>(history.finish()); }) !=
            "CUDA history: got 6 entries or more; expected fewer than most_entries, which overwrite nothing")
            return 3;
        CudaHistory whole{{.most_entries = 6}};
        native::raw_delete(native::raw_alloc(1000));
        return whole.finish().events.size() == 2 &&
                       message([&] { static_cast<void>(whole.finish()); }) == "CUDA history: it has ended already"
                   ? 1
                   : 4;
    });
    CHECK(verdict == 1);
}
