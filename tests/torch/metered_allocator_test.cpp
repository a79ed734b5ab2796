// SPDX-License-Identifier: MIT
#include "hpo/torch/metered_allocator.hpp"

#include <torch/torch.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>

#include "hpo/device/metered_device.hpp"
#include "hpo/torch/memory_reading.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"

using hpo::libtorch::MeteredAllocator;
using hpo::tests::mib;

namespace {

/// The meter installed, without limits before and after.
struct Meter {
    Meter() {
        MeteredAllocator::install();
        unlimited();
    }
    ~Meter() { unlimited(); }
    void unlimited() {
        allocator.use_device({});
        allocator.set_cap(std::nullopt);
    }
    MeteredAllocator& allocator = MeteredAllocator::instance();
};

torch::Tensor bytes(std::int64_t count) { return torch::empty({count}, torch::kByte); }

}  // namespace

TEST_CASE("the meter counts live and peak bytes of tensors") {
    Meter meter;
    const std::int64_t before = meter.allocator.allocated_bytes();
    meter.allocator.reset_peak();
    {
        const auto one = bytes(mib);
        CHECK(meter.allocator.allocated_bytes() - before == mib);
        const auto two = bytes(2 * mib);
        CHECK(meter.allocator.allocated_bytes() - before == 3 * mib);
    }
    CHECK(meter.allocator.allocated_bytes() == before);
    CHECK(meter.allocator.peak_bytes() - before == 3 * mib);
    meter.allocator.reset_peak();
    CHECK(meter.allocator.peak_bytes() == before);
}

TEST_CASE("data sets stay outside the meter, wherever they are freed") {
    Meter meter;
    const std::int64_t before = meter.allocator.allocated_bytes();
    torch::Tensor data;
    {
        const hpo::libtorch::Unmetered outside;
        data = bytes(4 * mib);
    }
    const auto inside = bytes(mib);
    CHECK(meter.allocator.allocated_bytes() - before == mib);
    data.reset();
    CHECK(meter.allocator.allocated_bytes() - before == mib);
}

TEST_CASE("past its cap a process gets LibTorch's out-of-memory error in CUDA's words") {
    Meter meter;
    const std::int64_t before = meter.allocator.allocated_bytes();
    meter.allocator.set_cap(before + 3 * mib);
    const auto held = bytes(2 * mib);
    try {
        const auto refused = bytes(2 * mib);
        FAIL("the cap was not enforced");
    } catch (const c10::OutOfMemoryError& error) {
        const std::string text = error.what_without_backtrace();
        CHECK_THAT(text, Catch::StartsWith("CPU device out of memory. Tried to allocate 2.00 MiB."));
        CHECK_THAT(text, Catch::Contains(" allowed; "));
    }
    CHECK(meter.allocator.allocated_bytes() - before == 2 * mib);
    const auto refusal = meter.allocator.take_refusal();
    REQUIRE(refusal);
    CHECK(refusal->requested_bytes == 2 * mib);
    CHECK(refusal->reading.limit == before + 3 * mib);
    CHECK_FALSE(refusal->reading.capacity);
    CHECK_FALSE(meter.allocator.take_refusal());
}

TEST_CASE("tensors are charged to the shared device and neighbours are named") {
    Meter meter;
    const auto file = std::filesystem::temp_directory_path() / ("hpo-allocator-test-" + std::to_string(::getpid()));
    auto device = hpo::device::MeteredDevice::create(file, 10 * mib);
    meter.allocator.use_device(file);
    auto held = bytes(6 * mib);
    CHECK(device.occupancy().used_bytes == 6 * mib);
    CHECK_THROWS_AS(bytes(5 * mib), c10::OutOfMemoryError);
    CHECK(device.occupancy().used_bytes == 6 * mib);
    const auto reading = hpo::libtorch::read_memory(torch::kCPU);
    CHECK(reading.capacity == 10 * mib);
    CHECK(reading.free == 4 * mib);
    CHECK(reading.neighbours.empty());
    meter.allocator.use_device({});
    held.reset();  // goes back to the device that it was taken from
    CHECK(device.occupancy().used_bytes == 0);
}

TEST_CASE("a cap that the supervisor set is enforced by the device, and told as the process's limit") {
    Meter meter;
    const auto file = std::filesystem::temp_directory_path() / ("hpo-allocator-cap-test-" + std::to_string(::getpid()));
    auto device = hpo::device::MeteredDevice::create(file, 10 * mib);
    device.set_cap(hpo::this_process(), 3 * mib);
    meter.allocator.use_device(file);
    const auto held = bytes(2 * mib);
    CHECK_THROWS_AS(bytes(2 * mib), c10::OutOfMemoryError);
    const auto refusal = meter.allocator.take_refusal();
    REQUIRE(refusal);
    CHECK(refusal->reading.limit == 3 * mib);
    CHECK(refusal->reading.free == 8 * mib);
    meter.allocator.set_cap(1 * mib);  // the process's own is less
    CHECK(meter.allocator.reading().limit == 1 * mib);
    meter.allocator.set_cap(std::nullopt);
    device.set_cap(hpo::this_process(), std::nullopt);
    CHECK(bytes(2 * mib).defined());
    meter.allocator.use_device({});
}

TEST_CASE("the host's own limit is told as such") {
    Meter meter;
    const std::int64_t before = meter.allocator.allocated_bytes();
    try {
        const auto refused = bytes(std::int64_t{1} << 50);
        FAIL("a petabyte was given");
    } catch (const c10::OutOfMemoryError&) {
        FAIL("the device did not refuse");
    } catch (const c10::Error& error) {
        CHECK_THAT(error.what_without_backtrace(), Catch::Contains("DefaultCPUAllocator: can't allocate memory"));
    }
    CHECK(meter.allocator.allocated_bytes() == before);
}

TEST_CASE("a convolution runs on metered memory") {
    Meter meter;
    const std::int64_t before = meter.allocator.allocated_bytes();
    {
        torch::nn::Conv2d convolution{torch::nn::Conv2dOptions{3, 8, 3}};
        const auto y = convolution(torch::randn({2, 3, 16, 16}));
        y.sum().backward();
        CHECK(y.size(2) == 14);
        CHECK(meter.allocator.allocated_bytes() > before);
    }
    CHECK(meter.allocator.allocated_bytes() == before);
}
