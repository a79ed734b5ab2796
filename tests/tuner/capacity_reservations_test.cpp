// SPDX-License-Identifier: MIT
#include "hpo/tuner/devices/capacity_reservations.hpp"

#include <cstdint>

#include "support/catch.hpp"

using namespace hpo;

TEST_CASE("a large attempt is not passed by small ones without end") {
    using tuner::CapacityReservations;
    CapacityReservations shared{10};
    REQUIRE(shared.reserve({.trial = 0, .need_bytes = 4, .comfort_bytes = 4}) == 4);
    CHECK_FALSE(shared.reserve({.trial = 1, .need_bytes = 10, .comfort_bytes = 10}));
    std::int64_t next = 2;
    for (int i = 0; i < CapacityReservations::most_passes; ++i, ++next) {
        REQUIRE(shared.reserve({.trial = next, .need_bytes = 5, .comfort_bytes = 5}) == 5);
        shared.release(next);
    }
    CHECK_FALSE(shared.reserve({.trial = next, .need_bytes = 5, .comfort_bytes = 5}));
    CHECK_FALSE(shared.reserve({.trial = 1, .need_bytes = 10, .comfort_bytes = 10}));
    shared.release(0);
    CHECK(shared.reserve({.trial = 1, .need_bytes = 10, .comfort_bytes = 10}) == 10);
    shared.release(1);
    CHECK(shared.reserve({.trial = next, .need_bytes = 5, .comfort_bytes = 5}) == 5);
}

TEST_CASE("an attempt gets its comfort if that is free, all of the capacity if it requires more, and may give a part back") {
    tuner::CapacityReservations shared{10};
    CHECK(shared.reserve({.trial = 0, .need_bytes = 4, .comfort_bytes = 6}) == 6);
    CHECK(shared.reserve({.trial = 1, .need_bytes = 4, .comfort_bytes = 6}) == 4);
    CHECK_FALSE(shared.reserve({.trial = 2, .need_bytes = 1, .comfort_bytes = 1}));
    shared.shrink(0, 3);
    CHECK(shared.reserve({.trial = 2, .need_bytes = 3, .comfort_bytes = 3}) == 3);
    for (const std::int64_t trial : {0, 1, 2}) shared.release(trial);
    CHECK(shared.reserve({.trial = 3, .need_bytes = 50, .comfort_bytes = 60}) == 10);
}
