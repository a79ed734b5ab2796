// SPDX-License-Identifier: MIT
#include "hpo/base/wait_until.hpp"

#include "support/catch.hpp"

TEST_CASE("a wait ends with the look that finds what it waits for, and looks a last time at its end") {
    int looks = 0;
    const auto in_vain = [&] {
        ++looks;
        return false;
    };
    CHECK_FALSE(hpo::wait_until(in_vain, {}));
    CHECK(looks == 1);
    CHECK_FALSE(hpo::wait_until(in_vain, {.most_seconds = 0.001, .pause_seconds = 60}));
    CHECK(looks >= 3);
    looks = 0;
    CHECK(hpo::wait_until([&] { return ++looks == 3; }, {.most_seconds = 60, .pause_seconds = 0.001}));
    CHECK(looks == 3);
}
