// SPDX-License-Identifier: MIT
// What asks a GPU's memory starts CUDA first: held against LibTorch for CUDA, with a GPU or without one.
#include <c10/core/Device.h>

#include <cstdint>
#include <exception>
#include <string>

#include "hpo/torch/memory_reading.hpp"
#include "support/catch.hpp"

#ifdef HPO_TORCH_CUDA
#include <c10/cuda/CUDAFunctions.h>

namespace {

const c10::Device card{c10::DeviceType::CUDA, 0};

/// What `ask` throws; empty if it throws nothing.
template <class Ask>
std::string said_by(const Ask& ask) {
    try {
        ask();
        return "";
    } catch (const std::exception& error) {
        return error.what();
    }
}

}  // namespace

TEST_CASE("a cap on a GPU's memory is set before anything else has started CUDA") {
    const auto limit = [] { hpo::libtorch::limit_memory(card, std::int64_t{1} << 30); };
    const auto reset = [] { hpo::libtorch::reset_peak_memory(card); };
    const auto read = [] { static_cast<void>(hpo::libtorch::read_memory(card)); };
    if (c10::cuda::device_count() > 0) {
        CHECK(said_by(limit).empty());
        CHECK(said_by(read).empty());
        CHECK(said_by(reset).empty());
        return;
    }
    // LibTorch says that no GPU answers. "Invalid device argument" is what the allocator says when nobody has started CUDA.
    for (const std::string& said : {said_by(limit), said_by(read), said_by(reset)}) {
        CAPTURE(said);
        CHECK_FALSE(said.empty());
        CHECK(said.find("Invalid device argument") == std::string::npos);
    }
}

TEST_CASE("giving memory back asks nothing of a process that has not started CUDA") {
    if (c10::cuda::device_count() > 0) return;  // another test may have started it
    CHECK(said_by([] { hpo::libtorch::release_cached_memory(card); }).empty());
}
#endif
