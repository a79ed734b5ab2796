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

TEST_CASE("steps during which the number on the device changed say nothing") {
    SharingSpeed speed;
    double now = 0;
    for (std::int64_t step = 1; step <= 40; ++step) {
        speed.reported(0, step, now += 1);
        speed.shared_by(step % 2 == 0 ? 2 : 1, now += 9);  // within each step
    }
    CHECK(speed.limit() == ThroughputGate::unlimited);
}

TEST_CASE("the gate hears of three speeds on either side, of one attempt or of several") {
    SharingSpeed one;
    double now = 0;
    std::int64_t step = 0;
    const auto report = [&](SharingSpeed& speed, std::int64_t trial, double seconds) { speed.reported(trial, ++step, now += seconds); };
    one.shared_by(1, now);
    for (int i = 0; i < 4; ++i) report(one, 0, 1);
    one.shared_by(2, now);
    report(one, 0, 10);
    report(one, 0, 10);
    CHECK(one.limit() == ThroughputGate::unlimited);
    report(one, 0, 10);
    CHECK(one.limit() == 1);

    SharingSpeed several;
    for (std::int64_t trial = 0; trial < 3; ++trial) {
        CHECK(several.limit() == ThroughputGate::unlimited);
        several.shared_by(1, now);
        report(several, trial, 1);
        report(several, trial, 1);
        several.shared_by(2, now);
        for (int i = 0; i < 3; ++i) report(several, trial, 10);
        several.ended(trial);
    }
    CHECK(several.limit() == 1);
}

TEST_CASE("one speed that is unlike the others does not end sharing") {
    SharingSpeed speed;
    speed.shared_by(1, 0);
    speed.reported(0, 1, 1);
    speed.reported(0, 2, 1.4);  // two fifths of the time that a step takes
    speed.reported(0, 3, 2.4);
    speed.reported(0, 4, 3.4);
    speed.shared_by(2, 3.4);
    for (int i = 1; i <= 6; ++i) speed.reported(0, 4 + i, 3.4 + i);
    CHECK(speed.limit() == ThroughputGate::unlimited);
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
