// SPDX-License-Identifier: MIT
// LibTorch's own caching allocator, over a CUDA runtime that only counts, against its model. No card is needed.
#include <c10/core/AllocatorConfig.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <sys/wait.h>
#include <torch/version.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "hpo/memory/allocator_conf.hpp"
#include "hpo/memory/allocator_replay.hpp"
#include "memory/random_trace.hpp"
#include "support/catch.hpp"
#include "torch_allocator/counting_cudart.hpp"

using namespace hpo::memory;
namespace native = c10::cuda::CUDACachingAllocator;

namespace {

std::string random_conf(hpo::Rng& rng) {
    std::string text;
    const auto maybe = [&](std::uint64_t one_in, const std::string& option) {
        if (rng.below(one_in) == 0) text += (text.empty() ? "" : ",") + option;
    };
    const std::int64_t segment = rng.below(3) == 0 ? hpo::tests::draw(rng, 11, 40) : 20;
    if (segment != 20) maybe(1, "large_segment_size_mb:" + std::to_string(segment));
    maybe(3, "max_split_size_mb:" + std::to_string(segment + hpo::tests::draw(rng, 0, 20)));
    maybe(4, "max_non_split_rounding_mb:" + std::to_string(segment + hpo::tests::draw(rng, 0, 20)));
    maybe(3, rng.below(2) == 0 ? "roundup_power2_divisions:4" : "roundup_power2_divisions:[1:8,4:2,16:16,>:4]");
    maybe(2, "garbage_collection_threshold:0." + std::to_string(hpo::tests::draw(rng, 1, 9)));
    maybe(3, "expandable_segments:True");
    return text;
}

/// What LibTorch's allocator does with a trace, as far as it counts it. Once in a process: it cannot be begun anew.
ReplayedTrace replay_natively(const AllocationTrace& trace, const AllocatorSettings& settings, const std::string& conf,
                              std::int64_t total) {
    counting_device_set_total(static_cast<std::size_t>(total));
    c10::CachingAllocator::setAllocatorSettings(conf);
    native::init(1);
    if (settings.memory_fraction) native::setMemoryFraction(*settings.memory_fraction, 0);
    std::vector<void*> held(trace.blocks.size());
    ReplayedTrace result;
    for (std::size_t i = 0; i < trace.events.size() && !result.refused; ++i) {
        const std::int64_t event = trace.events[i];
        if (event < 0) {
            native::raw_delete(held[static_cast<std::size_t>(-1 - event)]);
            continue;
        }
        const auto block = static_cast<std::size_t>(event);
        try {
            held[block] = native::raw_alloc(static_cast<std::size_t>(trace.blocks[block].bytes));
        } catch (const c10::OutOfMemoryError&) {
            result.refused = RefusedRequest{.event = i};
        }
    }
    const auto stats = native::getDeviceStats(0);
    result.counts = {.requested = stats.requested_bytes[0].current,
                     .allocated = stats.allocated_bytes[0].current,
                     .reserved = stats.reserved_bytes[0].current,
                     .requested_peak = stats.requested_bytes[0].peak,
                     .allocated_peak = stats.allocated_bytes[0].peak,
                     .reserved_peak = stats.reserved_bytes[0].peak,
                     .retries = stats.num_alloc_retries};
    return result;
}

enum Verdict { served, ran_out, differs };

Verdict compare(std::uint64_t number) {
    hpo::Rng rng{number};
    const AllocationTrace trace = hpo::tests::random_trace(rng, hpo::tests::draw(rng, 5, 400));
    const std::string conf = random_conf(rng);
    AllocatorSettings settings = read_allocator_conf(conf, parse_libtorch_version(TORCH_VERSION).value());
    if (rng.below(2) == 0) settings.memory_fraction = 0.25 + 0.75 * rng.uniform();
    const std::int64_t peak = simulate(trace, settings).counts.reserved_peak;
    AllocatorDevice device{.total_bytes = std::int64_t{1} << 40};
    if (rng.below(4) != 0) device.total_bytes = peak / 2 + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(peak)));
    const ReplayedTrace model = simulate(trace, settings, device);
    const ReplayedTrace real = replay_natively(trace, settings, conf, device.total_bytes);
    const bool same = model.counts == real.counts && model.survived() == real.survived() &&
                      (model.survived() || model.refused->event == real.refused->event);
    return !same ? differs : model.survived() ? served : ran_out;
}

}  // namespace

TEST_CASE("the model equals LibTorch's own allocator on 10000 random traces with random settings") {
    int counts[3] = {0, 0, 0};
    for (std::uint64_t number = 1; number <= 10000; ++number) {
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) _exit(compare(number));
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child);
        CAPTURE(number, status);
        REQUIRE(WIFEXITED(status));
        REQUIRE(WEXITSTATUS(status) <= differs);
        ++counts[WEXITSTATUS(status)];
        CHECK(WEXITSTATUS(status) != differs);
    }
    CHECK(counts[served] > 2000);
    CHECK(counts[ran_out] > 2000);
}
