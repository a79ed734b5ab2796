// SPDX-License-Identifier: MIT
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/command.hpp"
#include "support/wording.hpp"
#include "tools/slow_bowl.hpp"

using namespace hpo::test;
using Catch::Contains;

namespace {

CommandResult run(const Workshop& workshop, std::vector<std::string> words) {
    words.insert(words.begin(), {tool("hpo-tune"), "run", "bowl.lua", "--progress", "none"});
    return run_command(workshop, words);
}

}  // namespace

TEST_CASE("an option of the command line that changes nothing beside the others is one error, and no trial begins") {
    const Workshop workshop;
    workshop.write("bowl.lua", slow_bowl({.trials = 1}));
    const std::vector<std::pair<std::vector<std::string>, std::string>> idle{
        {{"--device", "cpu", "--min-free", "4GiB"},
         has_no_effect("--min-free") + "the run uses no GPU, since its device is cpu; leave it out"},
        {{"--device", "cpu", "--device-wait", "3s"}, has_no_effect("--device-wait") + "the run uses no GPU"},
        {{"--device", "cpu", "--device-interval", "3s"}, has_no_effect("--device-interval") + "the run uses no GPU"},
        {{"--device", "cpu", "--ledger", "ledger"}, has_no_effect("--ledger") + "nothing limits the memory of the device"},
        {{"--device", "cpu", "--fallback-device", "cpu"}, has_no_effect("--fallback-device") + "the run uses cpu anyway; leave it out"},
        {{"--context", "400MiB"}, "--context: has no effect without a card that is not there; name one with --card, or leave it out"},
        {{"--cards", "2"}, "--cards: has no effect without a card that is not there; name one with --card, or leave it out"},
        {{"--log-size", "20MiB"}, has_no_effect("--log-size") + "there is no log"},
        {{"--guard", "unlimited", "--target-share", "0.4"}, has_no_effect("--target-share") + "the guard unlimited shrinks no trial"},
        {{"--batch-parameter", "x"}, "--batch-parameter: it is for programs, and trainer quadratic is none"},
        {{"--micro-batch-parameter", "x"}, "--micro-batch-parameter: it is for programs, and trainer quadratic is none"},
        {{"--accumulate-parameter", "x"}, "--accumulate-parameter: it is for programs, and trainer quadratic is none"},
    };
    for (const auto& [words, expected] : idle) {
        CAPTURE(words);
        const auto ended = run(workshop, words);
        CHECK(ended.status == 2);
        CHECK_THAT(ended.error, Catch::StartsWith("hpo-tune: error: ") && Contains(expected));
        CHECK_FALSE(std::filesystem::exists(workshop.path("hpo.db")));
    }
}

TEST_CASE("options that change something are taken, and those of a script that change nothing are one note each") {
    const Workshop workshop;
    workshop.write("bowl.lua", slow_bowl({.trials = 1}));
    const auto used = run(workshop, {"--device", "cpu", "--device-memory", "64MiB", "--ledger", "ledger", "--target-share", "0.4", "--log",
                                     "run.log", "--log-size", "20MiB"});
    INFO(used.error);
    CHECK(used.status == 0);
    CHECK_THAT(used.error, !Contains("has no effect"));
    std::string script = slow_bowl({.trials = 2});
    script.replace(script.find("workers = "), 0, "device = \"cpu\", min_free = \"4GiB\", log_size = \"20MiB\", ");
    workshop.write("bowl.lua", script);
    const auto noted = run(workshop, {});
    INFO(noted.error);
    CHECK(noted.status == 0);
    CHECK_THAT(noted.error,
               Contains("hpo-tune: note: bowl.lua:6: min-free: has no effect: the run uses no GPU, since its device is cpu\n") &&
                   Contains("hpo-tune: note: bowl.lua:6: log-size: has no effect: there is no log; --log FILE begins one\n"));
}
