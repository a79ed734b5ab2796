// SPDX-License-Identifier: MIT
#include "hpo/device/sharing_speed.hpp"

#include "support/catch.hpp"

using hpo::device::SharingSpeed;
using hpo::device::ThroughputGate;

namespace {

/// Trial 0 and, from the middle on, others beside it, each step at the pace that so many on the device bear.
void train(SharingSpeed& speed, std::size_t beside, double slowdown) {
    double now = 100;
    std::int64_t step = 0;
    const auto epochs = [&](int count, double seconds) {
        for (int i = 0; i < count; ++i) speed.reported(0, ++step, now += seconds);
    };
    speed.shared_by(1, now);
    epochs(4, 1);
    for (std::size_t other = 1; other <= beside; ++other) {
        speed.shared_by(1 + other, now += 0.5);
        epochs(5, other == beside ? slowdown : 1);
    }
}

}  // namespace

TEST_CASE("speeds of the same attempt before and after another joins tell whether sharing pays") {
    SharingSpeed pays;
    train(pays, 1, 1.8);  // 2 / 1.8 is eleven hundredths more
    CHECK(pays.limit() == ThroughputGate::unlimited);
    SharingSpeed does_not;
    train(does_not, 1, 2);
    CHECK(does_not.limit() == 1);
    SharingSpeed third;
    train(third, 2, 1.6);
    CHECK(third.limit() == 2);
}

TEST_CASE("steps during which the number on the device changed say nothing, nor do single ones") {
    SharingSpeed speed;
    double now = 0;
    for (std::int64_t step = 1; step <= 40; ++step) {
        speed.reported(0, step, now += 1);
        speed.shared_by(step % 2 == 0 ? 2 : 1, now += 9);  // within each step
    }
    CHECK(speed.limit() == ThroughputGate::unlimited);
    SharingSpeed few;
    few.shared_by(1, 0);
    few.reported(0, 1, 1);
    few.reported(0, 2, 2);
    few.shared_by(2, 2);
    few.reported(0, 3, 12);
    few.reported(0, 4, 22);
    CHECK(few.limit() == ThroughputGate::unlimited);
    few.reported(0, 5, 32);
    CHECK(few.limit() == 1);
}

TEST_CASE("an attempt that has ended is forgotten, and its number may come again") {
    SharingSpeed speed{{.least_gain = 1.05, .retry_after = 2}};
    train(speed, 1, 4);
    CHECK(speed.limit() == 1);
    speed.ended(0);
    CHECK(speed.limit() == 1);
    speed.ended(1);
    CHECK(speed.limit() == 2);
    speed.shared_by(1, 1000);
    speed.reported(0, 1, 1001);  // no speed yet: what ended says nothing about it
    speed.reported(0, 1, 1002);  // a step twice is no speed
    CHECK(speed.limit() == 2);
}
