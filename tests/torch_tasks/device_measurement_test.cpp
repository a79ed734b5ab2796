// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <vector>

#include "hpo/device/metered_device.hpp"
#include "hpo/testing/trainer_contract.hpp"
#include "hpo/torch/metered_allocator.hpp"
#include "hpo/torch/torch_trainer.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

namespace {

using hpo::DeviceFinding;
using hpo::tests::mib;
using Level = DeviceFinding::Level;

/// A trainer that has only its device.
class Idle final : public hpo::libtorch::TorchTrainer {
    hpo::TrainerInfo describe() const override { return {.name = "idle", .metrics = {{"none", hpo::Direction::minimize, ""}}}; }
    std::unique_ptr<hpo::libtorch::Task> make_task(const hpo::Settings&, const hpo::TrainerJob&) override { return nullptr; }
};

std::vector<DeviceFinding> measured(const hpo::TrainerJob& job) {
    Idle trainer;
    hpo::testing::RecordingProgress progress;
    return trainer.measure(job, progress);
}

const DeviceFinding& of(const std::vector<DeviceFinding>& findings, const std::string& what) {
    const auto found = std::find_if(findings.begin(), findings.end(), [&](const DeviceFinding& each) { return each.what == what; });
    REQUIRE(found != findings.end());
    INFO(found->detail);
    return *found;
}

}  // namespace

TEST_CASE("a metered CPU is measured, and every byte is counted, refused and given back") {
    const hpo::tests::TemporaryDirectory place;
    auto device = hpo::device::MeteredDevice::create(place.path("account"), 80 * mib);
    hpo::TrainerJob job;
    job.metered_device = device.file().string();
    const std::vector<DeviceFinding> findings = measured(job);
    for (const DeviceFinding& each : findings) {
        CAPTURE(each.what, each.detail);
        CHECK(each.level == Level::ok);
    }
    CHECK(findings.size() == 7);
    // an eighth of the device, in whole steps of 2 MiB
    CHECK(of(findings, "allocation").bytes == 10 * mib);
    CHECK_THAT(of(findings, "allocation").detail, Catch::Contains("the allocator counts 10.00 MiB, the device has 10.00 MiB less free"));
    CHECK_THAT(of(findings, "refusal").detail, Catch::Contains("1.00 MiB more than the device's 80.00 MiB was refused as out of memory"));
    CHECK(device.occupancy().used_bytes == 0);
}

TEST_CASE("a CPU without a limit is measured, but for the refusal") {
    const std::vector<DeviceFinding> findings = measured({});
    CHECK(of(findings, "refusal").level == Level::note);
    CHECK(of(findings, "product").level == Level::ok);
    CHECK(of(findings, "release").level == Level::ok);
}

TEST_CASE("a measurement that fails is a bad finding, and ends there") {
    hpo::libtorch::MeteredAllocator::install();
    hpo::libtorch::MeteredAllocator::instance().refuse_nth(1);
    const std::vector<DeviceFinding> findings = measured({});
    hpo::libtorch::MeteredAllocator::instance().refuse_nth(0);
    CHECK(findings.back().what == "allocation");
    CHECK(findings.back().level == Level::bad);
    CHECK_THAT(findings.back().detail, Catch::Contains("out of memory"));
}

TEST_CASE("a device that is too full is told by the allocation") {
    const hpo::tests::TemporaryDirectory place;
    auto device = hpo::device::MeteredDevice::create(place.path("account"), 80 * mib);
    REQUIRE(device.charge(75 * mib));
    hpo::TrainerJob job;
    job.metered_device = device.file().string();
    const std::vector<DeviceFinding> findings = measured(job);
    CHECK(of(findings, "allocation").level == Level::bad);
    CHECK_THAT(of(findings, "allocation").detail, Catch::Contains("out of memory"));
    device.release(75 * mib);
}
