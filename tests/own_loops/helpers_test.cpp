// SPDX-License-Identifier: MIT
#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/torch/metered_allocator.hpp"
#include "hpo/torch/own_loops/clean_up.hpp"
#include "hpo/torch/own_loops/memory_monitor.hpp"
#include "hpo/torch/own_loops/retry_on_oom.hpp"
#include "own_model.hpp"
#include "support/catch.hpp"

using namespace hpo::libtorch;
using namespace own_model;
using Catch::Contains;

namespace {

void out_of_memory() { C10_THROW_ERROR(OutOfMemoryError, "CUDA out of memory. Tried to allocate 2.00 GiB"); }

}  // namespace

TEST_CASE("nothing is held after a clean-up, wherever a pass ran out of memory") {
    MeteredAllocator::install();
    MeteredAllocator& meter = MeteredAllocator::instance();
    const auto pass = [](Training& training) {
        training.loss_sum(examples_of(0)).backward();
        for (torch::Tensor parameter : training.model->parameters()) parameter.mutable_grad().reset();
    };
    std::int64_t points = 0;
    {
        Training training;
        pass(training);
        const std::int64_t before = meter.allocations();
        pass(training);
        points = meter.allocations() - before;
    }
    REQUIRE(points > 20);
    bool left_something = false;
    for (std::int64_t point = 1; point <= points; ++point) {
        CAPTURE(point, points);
        Training training;
        const std::int64_t held = meter.allocated_bytes();
        meter.refuse_nth(point);
        CHECK_THROWS_AS(pass(training), c10::OutOfMemoryError);
        meter.refuse_nth(0);
        for (torch::Tensor parameter : training.model->parameters()) parameter.mutable_grad().reset();
        left_something = left_something || meter.allocated_bytes() > held;
        const CleanUp done = clean_up(torch::kCPU);
        CHECK(done.problem == "");
        CHECK(meter.allocated_bytes() == held);
        CHECK(done.after.allocated == held);
    }
    CHECK(left_something);  // else this test would show nothing
}

TEST_CASE("a clean-up drops what it is given") {
    MeteredAllocator::install();
    MeteredAllocator& meter = MeteredAllocator::instance();
    const std::int64_t held = meter.allocated_bytes();
    auto model = std::make_shared<Net>();
    torch::nn::Linear layer{4, 4};
    torch::Tensor tensor = torch::zeros({100});
    std::optional<torch::Tensor> perhaps = torch::zeros({100});
    std::vector<torch::Tensor> several{torch::zeros({100}), torch::zeros({100})};
    Batch batch{{torch::zeros({4, 4})}, torch::zeros({4})};
    auto optimizer = std::make_unique<torch::optim::SGD>(model->parameters(), torch::optim::SGDOptions{0.1});
    REQUIRE(meter.allocated_bytes() > held);
    const CleanUp done = clean_up(torch::kCPU, model, layer, tensor, perhaps, several, batch, optimizer);
    CHECK(done.problem == "");
    CHECK(meter.allocated_bytes() == held);
    CHECK(*done.before.allocated == held);  // read when the holders are empty
    CHECK(*done.after.allocated == held);
}

TEST_CASE("a try that runs out of memory is made again, at most as often as asked, and each failure is told") {
    MeteredAllocator::install();
    std::vector<FailedTry> told;
    const RetryOptions options{.most_tries = 3, .failed = [&](const FailedTry& failed) { told.push_back(failed); }};
    int calls = 0;
    CHECK(retry_on_oom(
              [&](int number) {
                  ++calls;
                  CHECK(number == calls);
                  if (number < 3) out_of_memory();
                  return std::string{"done"};
              },
              options) == "done");
    REQUIRE(told.size() == 2);
    CHECK(told[0].number == 1);
    CHECK(told[1].number == 2);
    CHECK(told[1].most == 3);
    CHECK_FALSE(told[1].last());
    CHECK(told[0].failure.kind == hpo::FailureKind::out_of_memory);
    CHECK_THAT(told[0].failure.message, Contains("Tried to allocate 2.00 GiB"));
    CHECK(told[0].clean_up.problem == "");

    calls = 0;
    told.clear();
    CHECK_THROWS_AS(retry_on_oom(
                        [&] {
                            ++calls;
                            out_of_memory();
                        },
                        options),
                    c10::OutOfMemoryError);
    CHECK(calls == 3);
    REQUIRE(told.size() == 3);
    CHECK(told[2].last());
}

TEST_CASE("host memory is retried like a device's, and so is an out-of-memory that only the text tells") {
    const auto tries = [](const auto& fail) {
        int calls = 0;
        retry_on_oom([&] {
            if (++calls == 1) fail();
        });
        return calls;
    };
    CHECK(tries([] { throw std::bad_alloc{}; }) == 2);
    CHECK(tries([] { throw std::runtime_error{"CUDA out of memory. Tried to allocate 20.00 MiB"}; }) == 2);
    CHECK(tries([] { C10_THROW_ERROR(Error, "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"); }) == 2);
}

TEST_CASE("what is no out-of-memory is passed on at once, a device-side assert above all") {
    int told = 0;
    const RetryOptions options{.failed = [&](const FailedTry&) { ++told; }};
    int calls = 0;
    CHECK_THROWS_WITH(retry_on_oom(
                          [&] {
                              ++calls;
                              throw std::runtime_error{"CUDA error: device-side assert triggered"};
                          },
                          options),
                      "CUDA error: device-side assert triggered");
    CHECK_THROWS_AS(retry_on_oom(
                        [&] {
                            ++calls;
                            throw 5;
                        },
                        options),
                    int);
    CHECK(calls == 2);
    CHECK(told == 0);
    CHECK_THROWS_WITH(retry_on_oom([] {}, {.most_tries = 0}), Contains("retry_on_oom: most_tries: got 0; expected 1 or more"));
}

TEST_CASE("the failure of a try has the figures of the metered device") {
    MeteredAllocator::install();
    MeteredAllocator& meter = MeteredAllocator::instance();
    std::optional<FailedTry> told;
    meter.set_cap(meter.allocated_bytes() + 1000);
    const auto result = retry_on_oom([&](int number) { return torch::zeros({number == 1 ? 500 : 50}).numel(); },
                                     {.failed = [&](const FailedTry& failed) { told = failed; }});
    meter.set_cap(std::nullopt);
    CHECK(result == 50);
    REQUIRE(told);
    CHECK(told->failure.requested_bytes == 2000);
    CHECK(told->failure.memory.limit.has_value());
}

TEST_CASE("a monitor tells the peak of its stretch and what is kept") {
    MeteredAllocator::install();
    torch::Tensor kept;
    const torch::Tensor earlier = torch::zeros({1'000'000});  // a peak before the monitor
    { const torch::Tensor gone = torch::zeros({5'000'000}); }
    const MemoryMonitor monitor{torch::kCPU};
    {
        const torch::Tensor gone = torch::zeros({300'000});
        kept = torch::zeros({100'000});
    }
    const MonitoredMemory use = monitor.use();
    CHECK(use.kept() == 400'000);
    CHECK(use.peak_allocated() == *use.begin.allocated + 1'600'000);
    CHECK(use.peak_reserved() == use.peak_allocated());
}

TEST_CASE("a second monitor of a device is refused while the first lives") {
    MeteredAllocator::install();
    {
        const MemoryMonitor monitor{torch::kCPU};
        CHECK_THROWS_WITH(MemoryMonitor{torch::kCPU}, Contains("another monitor watches cpu") && Contains("expected one monitor"));
    }
    CHECK_NOTHROW(MemoryMonitor{torch::kCPU});
#ifndef HPO_TORCH_CUDA
    CHECK_THROWS_WITH((MemoryMonitor{torch::Device{torch::kCUDA, 0}}), Contains("without CUDA"));
#endif
}
