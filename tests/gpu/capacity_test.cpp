// SPDX-License-Identifier: MIT
// Trainings on virtual cards of many sizes: LibTorch's own allocator against the model's word on the least capacity.
#include <torch/torch.h>

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/own_process.hpp"
#include "gpu/jobs.hpp"
#include "hpo/allocator/capacity_need.hpp"
#include "hpo/failure/oom_message.hpp"
#include "hpo/torch/memory_reading.hpp"
#include "support/catch.hpp"
#include "torch/prediction/cuda_history.hpp"

namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

/// How an attempt ended.
enum Ending {
    completed,
    ran_out,      ///< as FailureKind::out_of_memory
    has_message,  ///< LibTorch's own
    knows_phase,  ///< forward, backward, ...
    as_told,      ///< the reading is what the message says was allocated and reserved then
    left_bytes,   ///< allocated after it
    ending_figures
};

/// What the context of a process takes of the card.
std::int64_t context_bytes() {
    std::size_t free = 0;
    std::size_t total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) throw std::runtime_error{"the card does not tell its memory"};
    return static_cast<std::int64_t>(total - free);
}

void resize_card(std::int64_t bytes) {
    const auto resize = reinterpret_cast<void (*)(long long)>(dlsym(RTLD_DEFAULT, "hpo_virtual_card_resize"));
    if (resize == nullptr) throw std::runtime_error{"this is no virtual card"};
    resize(bytes);
}

/// The message has two decimals of MiB.
bool reading_is_told(const hpo::Failure& failure) {
    const auto told = hpo::parse_oom_message(failure.message);
    const auto near = [](std::optional<std::int64_t> one, std::optional<std::int64_t> other) {
        return one && other && std::abs(*one - *other) <= mebibyte / 50;
    };
    return told && near(told->memory.allocated, failure.memory.allocated) && near(told->memory.reserved, failure.memory.reserved);
}

/// The attempt's own requests on a card that is large enough, replayed: the least capacity for the allocator, in bytes.
std::optional<std::int64_t> least_capacity(const bench::Configuration& configuration, const gpu::MadeUpData& data) {
    const auto found = bench::tried_in_own_process([&] {
        return bench::with_trainer(configuration.family, [&](hpo::Trainer& trainer) {
            hpo::libtorch::CudaHistory history;
            bench::Silence silence;
            if (trainer.run(data.job_of(configuration), silence).kind != hpo::OutcomeKind::complete)
                throw std::runtime_error{"a training did not complete"};
            const auto version = hpo::allocator::parse_libtorch_version(TORCH_VERSION).value();
            const hpo::allocator::AllocationTrace trace = history.finish();
            return std::vector<double>{static_cast<double>(hpo::allocator::capacity_need(trace, {.version = version}).need)};
        });
    });
    if (!found) return std::nullopt;
    return static_cast<std::int64_t>(found->at(0));
}

/// An attempt on a card that has so much for the allocator.
std::vector<double> attempt_with(const bench::Configuration& configuration, const gpu::MadeUpData& data, std::int64_t bytes) {
    const auto found = bench::tried_in_own_process([&] {
        return bench::with_trainer(configuration.family, [&](hpo::Trainer& trainer) {
            bench::Silence silence;
            resize_card(context_bytes() + bytes);
            const hpo::AttemptOutcome outcome = trainer.run(data.job_of(configuration), silence);
            std::vector<double> ending(ending_figures, 0);
            ending[completed] = outcome.kind == hpo::OutcomeKind::complete ? 1 : 0;
            if (outcome.failure) {
                ending[ran_out] = outcome.failure->kind == hpo::FailureKind::out_of_memory ? 1 : 0;
                ending[has_message] = outcome.failure->message.find("CUDA out of memory. Tried to allocate") != std::string::npos ? 1 : 0;
                ending[as_told] = reading_is_told(*outcome.failure) ? 1 : 0;
                ending[knows_phase] = outcome.failure->where.empty() ? 0 : 1;
            }
            ending[left_bytes] = static_cast<double>(hpo::libtorch::read_memory(torch::Device{torch::kCUDA, 0}).allocated.value());
            return ending;
        });
    });
    REQUIRE(found);
    return *found;
}

}  // namespace

TEST_CASE("an attempt completes on a card of the least capacity, and runs out of memory on any smaller one") {
    if (!gpu::card_is_virtual()) {
        std::printf("skipped: only a virtual card can have any size\n");
        return;
    }
    ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:2:16:8", 1);
    const gpu::MadeUpData data;
    int tried = 0;
    for (const bench::Configuration& each : gpu::configurations()) {
        if (each.name != "plain" && each.name != "checkpointing" && each.name != "bf16") continue;
        CAPTURE(bench::family_names[static_cast<int>(each.family)], each.name);
        ++tried;
        const auto least = least_capacity(each, data);
        REQUIRE(least);
        CAPTURE(*least / mebibyte);
        const std::vector<double> enough = attempt_with(each, data, *least);
        CHECK(enough[completed] == 1);
        CHECK(enough[left_bytes] == 0);
        for (const std::int64_t bytes : {*least - 2 * mebibyte, *least * 3 / 4, *least / 2, *least / 4}) {
            CAPTURE(bytes / mebibyte);
            const std::vector<double> ending = attempt_with(each, data, bytes);
            CHECK(ending[ran_out] == 1);
            CHECK(ending[has_message] == 1);
            CHECK(ending[knows_phase] == 1);
            CHECK(ending[as_told] == 1);
            CHECK(ending[left_bytes] == 0);
        }
    }
    CHECK(tried >= 12);
}
