// SPDX-License-Identifier: MIT
#include "hpo/base/signal_name.hpp"

#include <signal.h>
#include <string.h>

#include <string>

#include "support/catch.hpp"

TEST_CASE("a signal has the name that the C library gives it") {
    for (int number = 0; number <= SIGRTMAX; ++number) {
        const char* const name = ::sigabbrev_np(number);
        CHECK(hpo::signal_name(number) == (name ? "SIG" + std::string{name} : "signal " + std::to_string(number)));
    }
    CHECK(hpo::signal_name(SIGKILL) == "SIGKILL");
    CHECK(hpo::signal_name(-1) == "signal -1");
}
