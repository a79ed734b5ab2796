// SPDX-License-Identifier: MIT
#include "command/kept_program.hpp"

#include <poll.h>
#include <signal.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"

namespace {

/// Ends `words`, waits for `late` after that, and returns how long the program is said to have been gone.
double idle_seconds_of(std::vector<std::string> words, std::chrono::milliseconds late) {
    hpo::command::KeptProgram program{{.words = std::move(words), .environment = hpo::worker::inherited_environment()}};
    pollfd ended{program.ended(), POLLIN, 0};
    constexpr int most_milliseconds = 60'000;
    REQUIRE(::poll(&ended, 1, most_milliseconds) == 1);
    std::this_thread::sleep_for(late);
    return program.wait().idle_seconds;
}

}  // namespace

TEST_CASE("the time that passes after a program's end is none of its own", "[command]") {
    const auto before = std::chrono::steady_clock::now();
    const double idle = idle_seconds_of({"true"}, std::chrono::milliseconds{300});
    const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - before;
    CHECK(idle >= 0.3);
    CHECK(idle <= whole.count());
}

TEST_CASE("a program that is ended from outside was not idle before", "[command]") {
    hpo::command::KeptProgram program{{.words = {"sleep", "60"}, .environment = hpo::worker::inherited_environment()}};
    std::this_thread::sleep_for(std::chrono::milliseconds{300});
    const auto before = std::chrono::steady_clock::now();
    program.signal(SIGKILL);
    const hpo::command::ProgramEnd end = program.wait();
    const std::chrono::duration<double> since = std::chrono::steady_clock::now() - before;
    CHECK(end.signal == SIGKILL);
    CHECK(end.idle_seconds <= since.count());
}
