// SPDX-License-Identifier: MIT
#include "hpo/device/xid_watch.hpp"

#include <boost/dll/shared_library.hpp>
#include <vector>

#include "support/catch.hpp"

using hpo::device::Nvml;
using hpo::device::XidWatch;

namespace {

/// What the test tells the driver's library, which is loaded once for both.
struct Driver {
    boost::dll::shared_library library{HPO_FAKE_NVML};
    void report(unsigned index, unsigned long long type, unsigned long long data) {
        library.get<void(unsigned, unsigned long long, unsigned long long)>("fake_nvml_report")(index, type, data);
    }
    unsigned event_sets() { return library.get<unsigned()>("fake_nvml_event_sets")(); }
};

}  // namespace

TEST_CASE("the Xids of the watched device are told once, and other events and devices not at all") {
    Driver driver;
    const auto nvml = Nvml::load(HPO_FAKE_NVML);
    REQUIRE(nvml);
    const auto cards = nvml->devices();
    constexpr unsigned long long xid = 8;
    constexpr unsigned long long clock = 16;
    {
        auto watch = XidWatch::begin(*nvml, cards[1]);
        REQUIRE(watch);
        CHECK(driver.event_sets() == 1);
        CHECK(watch->take().empty());
        driver.report(0, xid, 79);
        driver.report(1, xid, 31);
        driver.report(1, clock, 13);
        driver.report(1, xid, 45);
        CHECK(watch->take() == std::vector{31, 45});
        CHECK(watch->take(std::chrono::milliseconds{1}).empty());
        const XidWatch moved{std::move(*watch)};
        CHECK(driver.event_sets() == 1);
    }
    CHECK(driver.event_sets() == 0);
}

TEST_CASE("a device whose driver tells no events is not watched, and nothing is left behind") {
    Driver driver;
    const auto nvml = Nvml::load(HPO_FAKE_NVML);
    REQUIRE(nvml);
    CHECK_FALSE(XidWatch::begin(*nvml, nvml->devices()[2]));
    CHECK_FALSE(XidWatch::begin(*nvml, hpo::device::NvidiaDevice{.index = 7, .name = {}, .uuid = {}, .compute_capability = {}}));
    CHECK(driver.event_sets() == 0);
}
