// SPDX-License-Identifier: MIT
#include "hpo/device/sharing_speed.hpp"

#include <limits>
#include <vector>

#include "support/catch.hpp"

using hpo::device::ThroughputGate;

TEST_CASE("attempts that do not slow each other down are not limited") {
    ThroughputGate gate;
    for (std::size_t now = 1; now <= 8; ++now) gate.joined(now, std::vector<double>(now - 1, 1.0));
    CHECK(gate.limit() == ThroughputGate::unlimited);
}

TEST_CASE("one attempt more must bring the device five hundredths") {
    // From 2 to 3: throughput by 3 / 2 of the speed that is left.
    ThroughputGate worth;
    worth.joined(3, std::vector{0.71, 0.70});
    CHECK(worth.limit() == ThroughputGate::unlimited);
    ThroughputGate idle;
    idle.joined(3, std::vector{0.70, 0.69});
    CHECK(idle.limit() == 2);
    idle.joined(2, std::vector{0.5});
    CHECK(idle.limit() == 1);
    idle.joined(1, {});
    CHECK(idle.limit() == 1);
}

TEST_CASE("a limit is tried again after some attempts, one at a time") {
    ThroughputGate gate{{.least_gain = 1.05, .retry_after = 3}};
    gate.joined(4, std::vector{0.5, 0.5, 0.5});
    CHECK(gate.limit() == 3);
    for (int i = 0; i < 2; ++i) gate.ended();
    CHECK(gate.limit() == 3);
    gate.ended();
    CHECK(gate.limit() == 4);
    gate.joined(4, std::vector{0.5, 0.5, 0.5});
    for (int i = 0; i < 2; ++i) gate.ended();
    CHECK(gate.limit() == 3);
}

TEST_CASE("speeds that say nothing change nothing") {
    ThroughputGate gate;
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double ratio : {0.0, -1.0, infinity, std::numeric_limits<double>::quiet_NaN()}) gate.joined(2, std::vector{ratio});
    gate.joined(2, {});
    CHECK(gate.limit() == ThroughputGate::unlimited);
}
