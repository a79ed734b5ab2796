// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/command.hpp"

using namespace hpo::test;
using Catch::Contains;

namespace {

/// What `check` and `run` say of a study with this trainer and space.
struct Both {
    CommandResult checked, ran;
};
Both both(const Workshop& workshop, const std::string& trainer, const std::string& space, const std::vector<std::string>& options) {
    workshop.write("s.lua", "local hpo = require \"hpo\"\nreturn hpo.study { name = \"s\", trainer = " + trainer +
                                ", trials = 1,\n  objective = { metric = \"value\", direction = \"minimize\" }, sampler = \"random\", "
                                "pruner = \"none\", recovery = \"fail\", workers = 1,\n  space = function(trial) " +
                                space + " end }\n");
    const auto call = [&](const std::string& command) {
        std::vector<std::string> words{tool("hpo-tune"), command, "s.lua", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers"};
        words.insert(words.end(), options.begin(), options.end());
        return run_command(workshop, words);
    };
    Both result{call("check"), call("run")};
    return result;
}

const std::string bowl = "trial:float(\"x\", -5, 5)";

}  // namespace

TEST_CASE("check refuses a folder for the best model, a ledger and a micro-batch that run refuses, in the same words") {
    const Workshop workshop;
    std::filesystem::create_directory(workshop.path("full"));
    workshop.write("full/other", "x");
    workshop.write("junk", "no ledger");
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
        {{"--save-best=full"}, "full: is not empty and no saved model; move it away or choose another folder"},
        {{"--ledger", "junk", "--device-memory", "64MiB"}, "junk: not a ledger; name another file"},
        {{"--ledger", "no/ledger", "--device-memory", "64MiB"}, "no/ledger: cannot be made: No such file or directory"},
    };
    for (const auto& [options, words] : cases) {
        const Both result = both(workshop, "\"quadratic\"", bowl, options);
        CHECK(result.checked.status == 2);
        CHECK(result.ran.status != 0);
        CHECK_THAT(result.checked.error, Contains(words));
        CHECK_THAT(result.ran.error, Contains(words));
    }
    const Both micro = both(workshop, "{ \"fault\", batch = 32 }", bowl, {"--plan", "micro_batch=33"});
    for (const CommandResult& each : {micro.checked, micro.ran}) {
        CHECK(each.status == 2);
        CHECK_THAT(each.error, Contains("--plan: got micro_batch 33; expected at most 32, the largest batch of 64 proposals"));
    }
    CHECK_FALSE(std::filesystem::exists(workshop.path("no")));
}

TEST_CASE("check says how many proposals a small device refuses") {
    const Workshop workshop;
    const Both result = both(workshop, "\"fault\"",
                             "trial:categorical(\"weights\", { 100, 6000000, 7000000, 8000000, 9000000, 10000000, 11000000, 12000000 })",
                             {"--device-memory", "4MiB"});
    CHECK(result.checked.status == 0);
    CHECK_THAT(result.checked.out, Contains(" of 64 proposals do not fit a device of 4.00 MiB, as guard calibrated predicts"));
}

TEST_CASE("what a study asks beyond the machine gets a note") {
    const Workshop workshop;
    const Both result = both(workshop, "\"quadratic\"", bowl, {"--device-memory", "90000GiB", "--threads", "1000"});
    for (const std::string& text : {result.checked.out, result.ran.error})
        CHECK_THAT(text,
                   Contains("--device-memory: 87.89 TiB are more than the ") && Contains("--threads: 1000 threads for each worker, but "));
    CHECK(result.checked.status == 0);
    CHECK(result.ran.status == 0);
}
