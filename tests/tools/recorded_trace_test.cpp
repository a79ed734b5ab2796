// SPDX-License-Identifier: MIT
#include <string>

#include "snapshot/recorder.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"

using namespace hpo::test;
using hpo::tests::mib;

TEST_CASE("trace shows a memory snapshot of PyTorch, and writes it as one that is reproduced") {
    const Workshop workshop;
    hpo::tests::SnapshotRecorder recorder{{}, {}};
    recorder.begin();
    for (std::size_t i = 0; i < 5; ++i) recorder.take(i, 30 * mib, 0, "forward");
    recorder.give_back(2, 0);
    const std::string file = workshop.write("s.pickle", hpo::tests::PickleWriter{4}.write(recorder.snapshot({}, "")));

    const CommandResult shown = run_command(workshop, {tool("hpo-tune"), "trace", file, "--snapshot", workshop.file("ours.pickle")});
    INFO(shown.out << shown.error);
    REQUIRE(shown.status == 0);
    CHECK(shown.out.find("a memory snapshot of PyTorch, device 0") != std::string::npos);
    CHECK(shown.out.find("peak 150.00 MiB after event 5") != std::string::npos);
    CHECK(shown.out.find("user/train.py:10 forward") != std::string::npos);

    const CommandResult again = run_command(workshop, {tool("hpo-analyze"), "snapshot", workshop.file("ours.pickle")});
    CHECK(again.out.find("exact: 5 of 5 allocations") != std::string::npos);

    const CommandResult refused = run_command(workshop, {tool("hpo-tune"), "trace", file, "--out", workshop.file("x")});
    CHECK(refused.status == 2);
    CHECK(refused.error.find("--out needs a study script") != std::string::npos);
}
