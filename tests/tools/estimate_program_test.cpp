// SPDX-License-Identifier: MIT
// `hpo-tune estimate -- PROGRAM`, as far as it goes without PyTorch for CUDA. With it: tests/virtual_card/programs_test.py.
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/command.hpp"
#include "support/processes.hpp"
#include "support/wording.hpp"

using namespace hpo::test;

namespace {

CommandResult estimate_of(const Workshop& workshop, std::vector<std::string> words) {
    words.insert(words.begin(), {tool("hpo-tune"), "estimate"});
    return run_command(workshop, words);
}

}  // namespace

TEST_CASE("what cannot be estimated of a program is one error that says why") {
    const Workshop workshop;
    const auto error_of = [&](const std::vector<std::string>& words, int status) {
        const CommandResult result = estimate_of(workshop, words);
        CHECK(result.status == status);
        CHECK(result.out.empty());
        CHECK(std::count(result.error.begin(), result.error.end(), '\n') == 1);
        return result.error;
    };
    CHECK(error_of({"--"}, 2).find("no program behind --") != std::string::npos);
    CHECK(error_of({"--card", "RTX-4091", "--", "true"}, 2).find(did_you_mean("RTX-4090")) != std::string::npos);
    CHECK(error_of({"--device-memory", "much", "--", "true"}, 2).find("--device-memory") != std::string::npos);
    CHECK(error_of({"--device-memory", "400MiB", "--", "true"}, 2).find("more than the CUDA context takes") != std::string::npos);
    CHECK(error_of({"--device-memory", "17TiB", "--", "true"}, 2).find("expected at most 16.00 TiB") != std::string::npos);
    CHECK(error_of({"--card", "24GiB", "--device-memory", "8GiB", "--", "true"}, 2).find("both are sizes") != std::string::npos);
    CHECK(error_of({"--card", "T4", "--device-memory", "15GiB", "--", "true"}, 2).find("at most the card's 14.56 GiB") !=
          std::string::npos);
    for (const char* const no_size : {"5090ti", "3050", "24GGB", "-5GiB"})
        CHECK(error_of({"--card", no_size, "--", "true"}, 2).find("unknown card") != std::string::npos);
    // A card that is not listed is no other one, and a size is no card.
    for (const char* name : {"RTX-2080-Super", "GTX-108", "a1"}) {
        CAPTURE(name);
        CHECK(error_of({"--card", name, "--", "true"}, 2).find("unknown card") != std::string::npos);
    }
    CHECK(error_of({"--device-memory", "4090", "--", "true"}, 2).find("--device-memory") != std::string::npos);
    const std::string wrong = error_of({"--card", "Voodoo", "--", "true"}, 2);
    for (const char* const each : {"RTX-2060", "T4", "A100-40GB", "B200"}) CHECK(wrong.find(each) != std::string::npos);
    CHECK(error_of({"--card=", "--", "true"}, 2).find("--card") != std::string::npos);
    CHECK(error_of({"--output", workshop.file("absent/printed"), "--", "true"}, 2).find("--output: ") != std::string::npos);
    CHECK(error_of({"--per", "B=8,,9", "--", "true", "{B}"}, 2).find("a value on each side of a comma") != std::string::npos);
    CHECK(error_of({"--per", "B=8", "--", "true"}, 2).find("no argument of the program has {B}") != std::string::npos);
    CHECK(error_of({"python", "train.py"}, 2).find("a program goes behind --") != std::string::npos);
    CHECK(error_of({"--steps", "0", "--", "true"}, 2).find("--steps") != std::string::npos);
    CHECK(error_of({"--", workshop.file("absent")}, 2).find("cannot be started: No such file") != std::string::npos);
    CHECK(error_of({"--", "/bin/sh", "-c", "echo 'no data'; exit 4"}, 7) ==
          "hpo-tune: error: the program took nothing of the virtual card that was recorded: it ended with status 4; the last that it "
          "printed: no data\n");
    CHECK(error_of({"--", "/bin/sh", "-c", "kill -SEGV $$"}, 7).find("it crashed: SIGSEGV ended it") != std::string::npos);
    CHECK(error_of({"--time-limit", "1", "--", "/bin/sleep", "100"}, 1).find("it was ended by --time-limit") != std::string::npos);
}

TEST_CASE("a card is known by its name as people write it, and may be a part of it") {
    const Workshop workshop;
    const auto memory_of = [&](std::vector<std::string> words) {
        words.insert(words.end(), {"--", "/bin/sh", "-c", "echo \"$HPO_VIRTUAL_CARD\""});
        return estimate_of(workshop, words).error;
    };
    for (const char* const name : {"RTX-4090", "rtx4090", "4090", "RTX 4090", "NVIDIA GeForce RTX 4090", "RTX 4090 24GB", "rtx_4090_24gb"})
        CHECK(memory_of({"--card", name}).find("name=RTX-4090;capability=89;") != std::string::npos);
    for (const auto& [written, card] : std::map<std::string, std::string>{{"a6000", "RTX-A6000"},
                                                                          {"NVIDIA A100-SXM4-80GB", "A100-80GB"},
                                                                          {"A100-PCIE-40GB", "A100-40GB"},
                                                                          {"Tesla V100-SXM2-32GB", "V100-32GB"},
                                                                          {"NVIDIA H100 80GB HBM3", "H100-80GB"},
                                                                          {"H100 PCIe", "H100-80GB"},
                                                                          {"NVIDIA RTX 6000 Ada Generation", "RTX-6000-Ada"},
                                                                          {"4060ti 16gb", "RTX-4060-Ti-16GB"}}) {
        CAPTURE(written);
        CHECK(memory_of({"--card", written}).find("name=" + card + ";") != std::string::npos);
    }
    CHECK(memory_of({"--card", "A100-SXM4-64GB"}).find("unknown card") != std::string::npos);
    CHECK(memory_of({"--card", "gh200"}).find("name=GH200;") != std::string::npos);
    const std::string two_sizes = memory_of({"--card", "a100"});
    CHECK(two_sizes.find("name=A100-40GB;") != std::string::npos);
    CHECK(two_sizes.find("note: --card a100: taken as A100-40GB, which has the least memory; the other is A100-80GB\n") !=
          std::string::npos);
    CHECK(memory_of({"--card", "T4", "--device-memory", "8GiB"}).find("capability=75;multiprocessors=40;memory=8589934592;") !=
          std::string::npos);
}

TEST_CASE("a program on the virtual card sees that it is a prediction, and its arguments as they are") {
    const Workshop workshop;
    const CommandResult result = estimate_of(
        workshop, {"--card", "T4", "--", "/bin/sh", "-c",
                   "echo \"$HPO_PREDICTING $WANDB_MODE $1 $2\"; pwd; echo \"$1 $HPO_PREDICTING $WANDB_MODE\"", "name", "--card", "--"});
    CHECK(result.error.find("the last that it printed: --card 1 disabled") != std::string::npos);
}

TEST_CASE("a card that is not there is for looking, and for a rehearsal") {
    const Workshop workshop;
    const auto error_of = [&](std::vector<std::string> words) {
        words.insert(words.begin(), tool("hpo-tune"));
        const CommandResult result = run_command(workshop, words);
        CHECK(result.status == 2);
        CHECK(result.out.empty());
        return result.error;
    };
    CHECK(error_of({"run", "study.lua", "--card", "T4"}).find("nothing is trained on a card that is not there") != std::string::npos);
    CHECK(error_of({"run", "study.lua", "--rehearse"}).find("--card NAME") != std::string::npos);
    CHECK(error_of({"run", "study.lua", "--card", "T4", "--rehearse", "--device", "cpu"}).find("leave out --device cpu") !=
          std::string::npos);
    CHECK(error_of({"run", "study.lua", "--card", "T4", "--rehearse", "--device-memory", "40GiB"}).find("at most the card's 14.56 GiB") !=
          std::string::npos);
    CHECK(error_of({"doctor", "--card", "T4", "--card=L4"}).find("given twice") != std::string::npos);
    CHECK(error_of({"doctor", "--card", "RTX-4091"}).find(did_you_mean("RTX-4090")) != std::string::npos);
    const CommandResult seen = run_command(workshop, {tool("hpo-tune"), "doctor", "--card", "T4"});
    CHECK(seen.out.find("cuda:0: T4, 14.56 GiB free of 14.56 GiB") != std::string::npos);
    CHECK(seen.out.find("cuda:1") == std::string::npos);
    const CommandResult three = run_command(workshop, {tool("hpo-tune"), "doctor", "--card", "T4", "--cards", "3"});
    CHECK(three.out.find("cuda:2: T4, 14.56 GiB free of 14.56 GiB") != std::string::npos);
    CHECK(error_of({"doctor", "--card", "T4", "--cards", "17"}).find("a number from 1 to 16") != std::string::npos);
}

TEST_CASE("a signal to an estimate of a program leaves neither a folder nor a process") {
    const Workshop workshop;
    const std::filesystem::path temporary = workshop.path("tmp");  // below the current folder, so the program writes there itself
    std::filesystem::create_directory(temporary);
    workshop.write("s.lua", R"(local hpo = require "hpo"
return hpo.study { name = "s", trainer = hpo.command { "/bin/sh", "-c", "touch began; sleep 300" },
  objective = { metric = "loss", direction = "minimize" }, space = function(trial) trial:float("x", 0, 1) end })");
    const auto [by_script, signal] = GENERATE(std::pair{true, SIGTERM}, std::pair{true, SIGINT}, std::pair{true, SIGKILL},
                                              std::pair{false, SIGTERM}, std::pair{false, SIGINT});
    CAPTURE(by_script, signal);
    std::vector<std::string> words{"/usr/bin/env", "TMPDIR=" + temporary.string(), tool("hpo-tune"), "estimate", "--card", "T4"};
    if (by_script) words.insert(words.begin() + 4, "s.lua");
    else words.insert(words.end(), {"--", "/bin/sh", "-c", "touch began; sleep 300"});
    const pid_t running = start_command(workshop, words);
    REQUIRE(eventually([&] { return std::filesystem::exists(workshop.path("began")); }));
    CHECK_FALSE(std::filesystem::is_empty(temporary));
    const auto family = hpo::tests::family_of(running);
    ::kill(running, signal);
    const CommandResult ended = finish_command(workshop, running);
    CHECK(ended.status != 0);
    CHECK(eventually([&] { return std::filesystem::is_empty(temporary); }));
    for (const pid_t each : family) CHECK(eventually([&] { return !hpo::tests::is_alive(each); }));
}
