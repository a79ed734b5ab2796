// SPDX-License-Identifier: MIT
#pragma once

#include <c10/core/AllocatorConfig.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <sys/wait.h>
#include <torch/version.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/random_trace.hpp"
#include "hpo/allocator/conf.hpp"
#include "hpo/allocator/replay.hpp"
#include "hpo/core/seed.hpp"
#include "torch_allocator/counting_cudart.hpp"

namespace hpo::tests {

/// A random trace, with settings and a device to replay it with: one of two is too small for it.
struct RandomReplay {
    allocator::AllocationTrace trace;
    std::string conf;  ///< as in PYTORCH_CUDA_ALLOC_CONF
    allocator::AllocatorSettings settings;
    allocator::AllocatorDevice device{.total_bytes = std::int64_t{1} << 40};
};

[[nodiscard]] inline std::string random_conf(Rng& rng) {
    std::string text;
    const auto maybe = [&](std::uint64_t one_in, const std::string& option) {
        if (rng.below(one_in) == 0) text += (text.empty() ? "" : ",") + option;
    };
    const std::int64_t segment = rng.below(3) == 0 ? draw(rng, 11, 40) : 20;
    if (segment != 20) maybe(1, "large_segment_size_mb:" + std::to_string(segment));
    maybe(3, "max_split_size_mb:" + std::to_string(segment + draw(rng, 0, 20)));
    maybe(4, "max_non_split_rounding_mb:" + std::to_string(segment + draw(rng, 0, 20)));
    maybe(3, rng.below(2) == 0 ? "roundup_power2_divisions:4" : "roundup_power2_divisions:[1:8,4:2,16:16,>:4]");
    maybe(2, "garbage_collection_threshold:0." + std::to_string(draw(rng, 1, 9)));
    maybe(3, "expandable_segments:True");
    return text;
}

[[nodiscard]] inline RandomReplay random_replay(std::uint64_t number) {
    Rng rng{number};
    RandomReplay replay;
    replay.trace = random_trace(rng, draw(rng, 5, 400));
    replay.conf = random_conf(rng);
    replay.settings = allocator::read_allocator_conf(replay.conf, allocator::parse_libtorch_version(TORCH_VERSION).value());
    if (rng.below(2) == 0) replay.settings.memory_fraction = 0.25 + 0.75 * rng.uniform();
    const std::int64_t peak = allocator::simulate(replay.trace, replay.settings).counts.reserved_peak;
    if (rng.below(4) != 0) replay.device.total_bytes = peak / 2 + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(peak)));
    return replay;
}

/// Sets LibTorch's allocator up for a replay. Once in a process: it cannot be begun anew.
inline void prepare_allocator(const RandomReplay& replay) {
    counting_device_set_total(static_cast<std::size_t>(replay.device.total_bytes));
    c10::CachingAllocator::setAllocatorSettings(replay.conf);
    c10::cuda::CUDACachingAllocator::init(1);
    if (replay.settings.memory_fraction) c10::cuda::CUDACachingAllocator::setMemoryFraction(*replay.settings.memory_fraction, 0);
}

/// What LibTorch's allocator does with a trace, as far as it counts it.
[[nodiscard]] inline allocator::ReplayedTrace replay_natively(const allocator::AllocationTrace& trace) {
    namespace native = c10::cuda::CUDACachingAllocator;
    std::vector<void*> held(trace.blocks.size());
    allocator::ReplayedTrace result;
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
            result.refused = allocator::RefusedRequest{.event = i};
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

/// What a process of its own says of `question()`, an int from 0 to 100; -1 when it died.
template <class Question>
[[nodiscard]] int in_own_process(const Question& question) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(question());
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) && WEXITSTATUS(status) <= 100 ? WEXITSTATUS(status) : -1;
}

}  // namespace hpo::tests
