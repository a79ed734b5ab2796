// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>

#include "support/catch.hpp"
#include "support/pool.hpp"

using namespace hpo;
using namespace hpo::test;

namespace {

/// The first lines that a process prints.
std::vector<std::int64_t> numbers_from(int descriptor, std::size_t count) {
    std::vector<std::int64_t> numbers;
    std::string text;
    char byte = 0;
    while (numbers.size() < count && ::read(descriptor, &byte, 1) == 1) {
        if (byte != '\n') text += byte;
        else numbers.push_back(std::stoll(std::exchange(text, "")));
    }
    return numbers;
}

}  // namespace

TEST_CASE("all workers are gone after their supervisor's death, in the midst of a tight loop too") {
    for (const char* fault : {"spin_ignoring_stop", "ignore_sigterm", "hang"}) {
        for (const int signal : {SIGKILL, SIGTERM, SIGSEGV}) {
            CAPTURE(fault, signal);
            auto sockets = worker::SocketPair::make();
            auto supervisor = worker::Process::start({.program = HPO_BINARY_DIR "/bin/hpo_test_supervisor",
                                                      .arguments = {"3", fault},
                                                      .environment = worker::inherited_environment(),
                                                      .output = sockets.theirs.get()});
            const auto pids = numbers_from(sockets.ours.get(), 3);
            REQUIRE(pids.size() == 3);
            for (const auto pid : pids) REQUIRE(lives(pid));
            ::kill(supervisor.pid(), signal);
            CHECK(eventually([&] { return std::ranges::none_of(pids, lives); }));
        }
    }
}

TEST_CASE("a worker whose supervisor died before it looked ends at once") {
    auto sockets = worker::SocketPair::make();
    auto orphan = worker::Process::start(
        {.program = HPO_BINARY_DIR "/bin/hpo-worker",
         .arguments = {"--fd", "3", "--parent", "1", "--trainer", "fault", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers"},
         .environment = worker::inherited_environment(),
         .channel = sockets.theirs.get()});
    const auto exit = orphan.wait(5000ms);
    REQUIRE(exit);
    CHECK(exit->status == 0);
}
