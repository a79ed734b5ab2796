// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/command.hpp"
#include "support/wording.hpp"

using namespace hpo::test;
using Catch::Contains;

namespace {

/// A study of a trainer with a metric and a space, all as Lua.
std::string study(const std::string& trainer, const std::string& objective, const std::string& space) {
    return "local hpo = require \"hpo\"\nreturn hpo.study { name = \"s\", trainer = " + trainer + ", trials = 2, objective = { " +
           objective + " }, sampler = \"random\", pruner = \"none\",\n  space = function(trial) " + space + " end }\n";
}

CommandResult tune(const Workshop& workshop, std::vector<std::string> words) {
    words.insert(words.begin(), tool("hpo-tune"));
    words.insert(words.begin() + 2, {"s.lua", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers"});
    return run_command(workshop, words);
}

std::string fault_study(const std::string& fault) {
    return study("{ \"fault\", fault = \"" + fault + "\" }", "metric = \"value\", direction = \"minimize\"", "trial:float(\"x\", -5, 5)");
}

}  // namespace

TEST_CASE("a trainer that mixes a GPU's tensors with host memory is refused by estimate and check, whatever weaker sources say") {
    const Workshop workshop;
    workshop.write("s.lua", fault_study("mix_devices_in_dry_run"));
    const std::string why = "cannot run on cuda:0: in forward, aten::add gets a tensor in host memory";
    const auto estimated = tune(workshop, {"estimate", "--device", "cuda:0", "--device-memory", "8GiB"});
    CHECK(estimated.status == 6);
    CHECK_THAT(estimated.error, Contains("trainer fault: this configuration " + why));
    const auto checked = tune(workshop, {"check", "--device", "cuda:0"});
    CHECK(checked.status == 2);
    CHECK_THAT(checked.error, Contains("trainer fault: " + why));
    CHECK(tune(workshop, {"check"}).status == 0);  // on the CPU it runs
    const auto plugin = run_command(workshop, {tool("hpo-tune"), "check-plugin", "fault", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers",
                                               "--fix", "fault=mix_devices_in_dry_run"});
    CHECK(plugin.status == 1);
    CHECK_THAT(plugin.error, Contains("predict: it cannot run on CUDA: in forward, aten::add gets a tensor in host memory"));
}

TEST_CASE("check for a GPU that is not there looks at what it can, and says what it cannot") {
    const Workshop workshop;
    workshop.write("s.lua", fault_study("none"));
    const auto checked = tune(workshop, {"check", "--device", "cuda"});
    if (checked.out.find("a step on a GPU was not tried") == std::string::npos) {  // a machine with a GPU
        CHECK_THAT(checked.error, Contains("was not built for CUDA") || Contains("does not use a GPU"));
        return;
    }
    CHECK(checked.status == 0);
    CHECK_THAT(checked.out, Contains(no_problems));
}

TEST_CASE("check tells a trainer that keeps memory after each trial") {
    const Workshop workshop;
    workshop.write("s.lua", fault_study("keep_in_check"));
    CHECK_THAT(
        tune(workshop, {"check"}).out,
        Contains("trainer fault keeps memory between trials: its process held 1000 bytes of the device after one step and 1.95 KiB"));
    workshop.write("s.lua", fault_study("keep_once_in_check"));
    CHECK_THAT(tune(workshop, {"check"}).out, !Contains("keeps memory"));
}

TEST_CASE("check makes no real step of a proposal that takes more than check may, and looks at its shapes") {
    const Workshop workshop;
    workshop.write("s.lua", study("{ \"image_classifier\", train_examples = 100, validation_examples = 100 }",
                                  "metric = \"accuracy\", direction = \"maximize\"",
                                  "trial:categorical(\"model.kind\", { \"mlp\" }) trial:categorical(\"model.width\", { 16, 60000 })"));
    const auto checked = tune(workshop, {"check"});
    CHECK(checked.status == 0);
    CHECK_THAT(checked.out, Contains("20 proposals looked at, of them ") &&
                                Contains(" by the shapes alone: a step of two examples takes ") && Contains("and check takes at most ") &&
                                Contains("model.width=60000"));
}

TEST_CASE("check looks at the smallest and the largest values of the space, whatever is drawn") {
    const Workshop workshop;
    // Only the ends of this range divide nothing: a draw hits one of them once in 500 million times.
    const std::string space =
        "local n = trial:int(\"steps\", 0, 1000000000) trial:float(\"x\", -5, 5) "
        "if n == 0 or n == 1000000000 then trial:categorical(\"fault\", { \"mix_devices_in_dry_run\" }) end";
    workshop.write("s.lua", study("\"fault\"", "metric = \"value\", direction = \"minimize\"", space));
    const auto checked = tune(workshop, {"check", "--device", "cuda:0"});
    CHECK(checked.status == 2);
    CHECK_THAT(checked.error, Contains("cannot run on cuda:0: in forward, aten::add gets a tensor in host memory"));
    // A space that refuses its ends is looked at without them.
    const std::string refusing =
        "local n = trial:int(\"steps\", 0, 1000000000) trial:float(\"x\", -5, 5) "
        "trial:require(n > 0 and n < 1000000000, \"an end\") ";
    workshop.write("s.lua", study("\"fault\"", "metric = \"value\", direction = \"minimize\"", refusing));
    CHECK(tune(workshop, {"check"}).status == 0);
}

#ifdef HPO_HAS_IMAGE_CLASSIFIER
TEST_CASE("check says what it looked at of the data and the first step, once for all proposals") {
    const Workshop workshop;
    workshop.write("s.lua", study("{ \"image_classifier\", train_examples = 300, validation_examples = 100 }",
                                  "metric = \"accuracy\", direction = \"maximize\"",
                                  "trial:categorical(\"model.kind\", { \"mlp\" }) trial:categorical(\"model.width\", { 16, 32 })"));
    const auto checked = tune(workshop, {"check"});
    INFO(checked.error);
    CHECK(checked.status == 0);
    CHECK_THAT(checked.out, Contains("looked at 300 training examples: labels are in 0 to 9, ") && Contains("inputs are finite") &&
                                Contains("looked at 100 held-out examples: ") && Contains("guessing gives ln 10 = 2.303") &&
                                Contains("looked at the gradients of 6 parameters for two examples: they are finite, and not all 0") &&
                                Contains("looked at one training step: it changes the weights"));
    CHECK(checked.out.find("looked at 300") == checked.out.rfind("looked at 300"));
}
#endif

TEST_CASE("a text that looks like a number is a text where the trainer or the space wants one") {
    const Workshop workshop;
    const std::string metric = "metric = \"value\", direction = \"minimize\"";
    workshop.write("s.lua", study("\"fault\"", metric, "trial:float(\"x\", -5, 5)"));
    for (const std::string text : {"2024", "true", "nan", "007", "1e3"}) {
        CAPTURE(text);
        const auto checked = tune(workshop, {"check", "--trainer-option", "fault=" + text});
        CHECK(checked.status == 0);
        if (text == "nan") continue;  // the fault of this name makes trials fail
        CHECK(tune(workshop, {"run", "--trainer-option", "fault=" + text, "--store", text + ".db", "--progress", "none"}).status == 0);
    }
    CHECK_THAT(tune(workshop, {"check", "--trainer-option", "steps=soon"}).error, Contains("steps") && Contains("expected"));
    workshop.write("s.lua", study("\"fault\"", metric, "trial:categorical(\"fault\", { \"2024\", \"true\", \"007\", \"1e3\", \"2.0\" })"));
    for (const std::string text : {"2024", "true", "007", "1e3", "2.0"})
        CHECK(tune(workshop, {"check", "--fix", "fault=" + text}).status == 0);
    CHECK(tune(workshop, {"check", "--fix", "fault=2025"}).status == 2);
    workshop.write("s.lua", study("\"fault\"", metric, "trial:float(\"x\", 0, 5)"));
    CHECK(tune(workshop, {"check", "--fix", "x=1e-3"}).status == 0);
    CHECK(tune(workshop, {"check", "--fix", "x=soon"}).status == 2);
}
