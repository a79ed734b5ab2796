// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/command.hpp"

using namespace hpo::test;
using Catch::Contains;

namespace {

constexpr const char* large_card = "GPU-11112222-bbbb-0000-0000-000000000000";

/// A machine with the four cards of tests/worker/fake_nvml.cpp.
struct CardMachine {
    Workshop workshop;
    std::filesystem::path ledger = "/dev/shm/hpo-ledger-" + std::to_string(::geteuid()) + "-" + large_card;

    CardMachine() {
        std::filesystem::create_directory(workshop.path("driver"));
        std::filesystem::create_symlink(HPO_FAKE_NVML, workshop.path("driver/libnvidia-ml.so.1"));
        // The ledger of a card belongs to the machine, so one test at a time has the card.
        REQUIRE(alone >= 0);
        REQUIRE(::flock(alone, LOCK_EX) == 0);
        std::filesystem::remove(ledger);
        workshop.write("card.lua", R"(
local hpo = require "hpo"
return hpo.study {
  name = "card", trainer = "cuda_fault", objective = { metric = "value", direction = "minimize" },
  sampler = "random", pruner = "none", trials = 1, workers = 1,
  space = function(trial) trial:float("x", 0, 1) end,
}
)");
    }
    ~CardMachine() {
        std::filesystem::remove(ledger);
        ::close(alone);
    }

    int alone = ::open("/tmp/hpo-test-cards.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0666);

    [[nodiscard]] CommandResult tune(const std::vector<std::string>& variables, const std::vector<std::string>& words) const {
        std::vector<std::string> all{
            "/usr/bin/env", "-u", "CUDA_VISIBLE_DEVICES", "-u", "CUDA_DEVICE_ORDER", "LD_LIBRARY_PATH=" + workshop.path("driver").string()};
        all.insert(all.end(), variables.begin(), variables.end());
        all.push_back(tool("hpo-tune"));
        all.insert(all.end(), words.begin(), words.end());
        return run_command(workshop, all);
    }
    [[nodiscard]] CommandResult run(const std::vector<std::string>& variables, const std::string& store, const std::string& device) const {
        return tune(variables, {"run", "card.lua", "--store", store, "--device", device, "--progress", "plain", "--save-best=false",
                                "--plugin-dir", std::string{HPO_BINARY_DIR} + "/tests/cuda_trainers"});
    }
    /// What is stored of the first trial, and of the device.
    [[nodiscard]] std::string kept(const std::string& store) const {
        return run_command(workshop, {tool("hpo-analyze"), "trial", "0", "--json", "--store", store}).out +
               run_command(workshop, {tool("hpo-analyze"), "memory", "--json", "--store", store}).out;
    }
};

}  // namespace

TEST_CASE("a run takes the card that its environment shows for the one it trains on") {
    const CardMachine machine;
    const auto shown = machine.run({"CUDA_VISIBLE_DEVICES=1"}, "shown.db", "cuda:0");
    INFO(shown.error);
    REQUIRE(shown.status == 0);
    CHECK(std::filesystem::exists(machine.ledger));
    CHECK_THAT(machine.kept("shown.db"), Contains("large test card") && Contains("\"capacity_bytes\": 50508815400"));
    std::filesystem::remove(machine.ledger);
    const auto counted = machine.run({}, "counted.db", "cuda:1");  // the same one
    INFO(counted.error);
    REQUIRE(counted.status == 0);
    CHECK(std::filesystem::exists(machine.ledger));
    CHECK_THAT(machine.kept("counted.db"), Contains("large test card"));
    const auto chosen = machine.run({"CUDA_VISIBLE_DEVICES=2,1"}, "chosen.db", "auto");  // the one with the most memory free
    CHECK(chosen.status == 0);
    CHECK_THAT(machine.kept("chosen.db"), Contains("large test card") && Contains("cuda:1"));
}

TEST_CASE("a trainer says itself whether it can use a card, whatever its LibTorch is called") {
    const CardMachine machine;
    const auto words = [&](const std::string& trainer, const std::string& device) {
        machine.workshop.write("own.lua", "local hpo = require \"hpo\"\nreturn hpo.study { name = \"own\", trainer = \"" + trainer +
                                              "\", objective = { metric = \"value\", direction = \"minimize\" },\n"
                                              "sampler = \"random\", trials = 1, space = function(trial) trial:float(\"x\", 0, 1) end }\n");
        return machine.tune({}, {"run", "own.lua", "--store", trainer + device + ".db", "--device", device, "--progress", "plain",
                                 "--save-best=false", "--plugin-dir", std::string{HPO_BINARY_DIR} + "/tests/cuda_trainers", "--plugin-dir",
                                 std::string{HPO_BINARY_DIR} + "/tests/trainers"});
    };
    const auto refused = words("fault", "cuda:0");
    CHECK(refused.status == 4);
    CHECK_THAT(refused.error, Contains("--device: trainer fault does not use a GPU; known: cpu"));
    CHECK(words("fault", "auto").status == 0);
    CHECK_THAT(machine.kept("faultauto.db"), Contains("\"cpu\""));
    CHECK(words("cuda_fault", "auto").status == 0);  // built against a LibTorch whose version has no "+cu", as PyPI's
    CHECK_THAT(machine.kept("cuda_faultauto.db"), Contains("large test card"));
}

TEST_CASE("a card that is not shown, or that nobody can tell, is refused") {
    const CardMachine machine;
    const auto beyond = machine.run({"CUDA_VISIBLE_DEVICES=1,-1,2"}, "hpo.db", "cuda:1");
    CHECK(beyond.status == 4);
    CHECK_THAT(beyond.error, Contains("no device 'cuda:1'; known: cpu, cuda:0"));
    const auto none = machine.run({"CUDA_VISIBLE_DEVICES=7"}, "hpo.db", "cuda:0");
    CHECK(none.status == 4);
    CHECK_THAT(none.error, Contains("CUDA_VISIBLE_DEVICES=7 shows none of 4 cards"));
    const auto unclear = machine.run({"CUDA_DEVICE_ORDER=FASTEST_FIRST"}, "hpo.db", "auto");
    CHECK(unclear.status == 4);
    CHECK_THAT(unclear.error, Contains("CUDA_DEVICE_ORDER") && Contains("PCI_BUS_ID"));
    CHECK_FALSE(std::filesystem::exists(machine.ledger));
}

TEST_CASE("a MIG instance is used, with the memory that the user says it has") {
    const CardMachine machine;
    const auto plain = machine.run({"CUDA_VISIBLE_DEVICES=MIG-test-0123"}, "plain.db", "cuda:0");
    INFO(plain.error);
    CHECK(plain.status == 0);
    CHECK_FALSE(std::filesystem::exists("/dev/shm/hpo-ledger-" + std::to_string(::geteuid()) + "-MIG-test-0123"));  // nothing to share
    CHECK_THAT(machine.tune({"CUDA_VISIBLE_DEVICES=MIG-test-0123"}, {"doctor"}).out,
               Contains("note  cuda:0: MIG-test-0123") && Contains("--device-memory"));
}

TEST_CASE("doctor shows cards as workers count them") {
    const CardMachine machine;
    const std::string all = machine.tune({}, {"doctor"}).out;
    CHECK_THAT(all, Contains("cuda:0: test card") && Contains("cuda:1: large test card") && Contains("cuda:2: small test card"));
    const std::string some = machine.tune({"CUDA_VISIBLE_DEVICES=2,GPU-0"}, {"doctor"}).out;
    CHECK_THAT(some, Contains("cuda:0: small test card") && !Contains("cuda:1") && Contains("shows 1 of 4 cards"));
    CHECK_THAT(machine.tune({"CUDA_DEVICE_ORDER=FASTEST_FIRST"}, {"doctor"}).out,
               Contains("note  cuda:2: with this CUDA_DEVICE_ORDER it is not known which card this is"));
}

TEST_CASE("a run uses each card that it is shown, those that have enough free, or the fallback") {
    const CardMachine machine;
    const auto tune = [&](const std::string& store, const std::vector<std::string>& words) {
        std::vector<std::string> all{"run",
                                     "card.lua",
                                     "--store",
                                     store,
                                     "--trials",
                                     "8",
                                     "--progress",
                                     "plain",
                                     "--save-best=false",
                                     "--plugin-dir",
                                     std::string{HPO_BINARY_DIR} + "/tests/cuda_trainers"};
        all.insert(all.end(), words.begin(), words.end());
        return machine.tune({}, all);
    };
    const auto all = tune("all.db", {"--device", "cuda:*", "--workers", "4"});
    INFO(all.error);
    REQUIRE(all.status == 0);
    for (const char* device : {"cuda:0", "cuda:1", "cuda:2", "cuda:3"}) CHECK_THAT(all.error, Contains(std::string{"; on "} + device));
    const auto roomy = tune("roomy.db", {"--device", "cuda:0,cuda:1,cuda:2", "--workers", "3", "--min-free", "20GiB"});
    INFO(roomy.error);
    REQUIRE(roomy.status == 0);
    CHECK_THAT(roomy.error, Contains("left out: cuda:2 has 12.00 GiB free of the 20.00 GiB of --min-free"));
    CHECK_THAT(roomy.error, !Contains("; on cuda:2"));
    const std::vector<std::string> too_much{"--device",      "cuda:0", "--min-free",        "100GiB",
                                            "--device-wait", "300ms",  "--device-interval", "50ms"};
    const auto none = tune("none.db", too_much);
    CHECK(none.status == 4);
    CHECK_THAT(none.error, Contains("waiting up to ") && Contains("cuda:0 has 20.00 GiB free of the 100.00 GiB of --min-free"));
    CHECK_FALSE(std::filesystem::exists(machine.workshop.path("none.db")));
    auto with_fallback = too_much;
    with_fallback.insert(with_fallback.end(), {"--fallback-device", "cpu"});
    const auto fallen = tune("fallen.db", with_fallback);
    INFO(fallen.error);
    REQUIRE(fallen.status == 0);
    CHECK_THAT(fallen.error, Contains("runs on cpu, the fallback: cuda:0 has 20.00 GiB free"));
}

TEST_CASE("a sticky error on a card is met once more with blocking launches, and the post-mortem shows what that said") {
    const CardMachine machine;
    machine.workshop.write("card.lua", R"(
local hpo = require "hpo"
return hpo.study {
  name = "card", trainer = "cuda_fault", objective = { metric = "value", direction = "minimize" },
  sampler = "random", pruner = "none", trials = 3, workers = 1, recovery = "fail",
  space = function(trial)
    trial:float("x", 0, 1)
    trial:categorical("fault", { "none", "sticky" }, { only = { trial.number == 0 and "sticky" or "none" } })
  end,
}
)");
    const auto run = machine.run({}, "sticky.db", "cuda:0");
    INFO(run.error);
    CHECK(run.status == 0);
    CHECK_THAT(run.error, Contains("trial 0 once more, with kernel launches that block: device-side assert triggered in index_select"));
    const auto shown = run_command(machine.workshop, {tool("hpo-analyze"), "trial", "0", "--store", "sticky.db"});
    CHECK_THAT(shown.out, Contains("in a later call") && Contains("in kernel index_select, line 7 of model.py"));
    const auto all = run_command(machine.workshop, {tool("hpo-analyze"), "summary", "--json", "--store", "sticky.db"});
    CHECK_THAT(all.out, Contains("\"COMPLETE\": 2"));
}
