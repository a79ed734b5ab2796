// SPDX-License-Identifier: MIT
// hpo-tune trace: a script's dry run recorded by a real worker, and traces that were written before.
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "hpo/allocator/trace_file.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"
#include "support/wording.hpp"

using namespace hpo::test;
using Catch::Contains;
using nlohmann::json;

namespace {

CommandResult trace(const Workshop& workshop, std::vector<std::string> words) {
    words.insert(words.begin(), {tool("hpo-tune"), "trace"});
    words.insert(words.end(), {"--plugin-dir", HPO_BINARY_DIR "/tests/trainers"});
    return run_command(workshop, words);
}

std::string script(const std::string& trainer, const std::string& options) {
    return "local hpo = require \"hpo\"\n"
           "return hpo.study {\n"
           "  name = \"traced\", trainer = { \"" +
           trainer + "\"" + options +
           " }, objective = { metric = \"value\", direction = \"minimize\" },\n"
           "  space = function(trial) trial:float(\"x\", -5, 5) end,\n}\n";
}

/// 40 MiB of weights, then 30 of activations that go again.
std::string write_a_trace(const Workshop& workshop) {
    hpo::allocator::AllocationTrace trace;
    trace.scopes = {"", "encoder", "head"};
    trace.enter("build");
    trace.take({.bytes = 40 << 20, .scope = 1});
    trace.enter("forward");
    const auto activations = trace.take({.bytes = 30 << 20, .scope = 2});
    trace.give_back(activations);
    hpo::allocator::write_trace(workshop.path("a.trace"), trace);
    return workshop.file("a.trace");
}

}  // namespace

TEST_CASE("a trace that was written before is shown, drawn and held against a capacity") {
    const Workshop workshop;
    const std::string file = write_a_trace(workshop);
    const auto shown = trace(workshop, {file, "--svg", "a.svg", "--capacity", "64MiB"});
    INFO(shown.error);
    REQUIRE(shown.status == 0);
    CHECK_THAT(shown.out, Contains("2 blocks, 3 allocations and frees\npeak 70.00 MiB after event 2, forward\n"));
    CHECK_THAT(shown.out, Contains("40.00 MiB") && Contains("encoder") && Contains("head") && Contains("together"));
    CHECK_THAT(shown.out, Contains("allocated 70.00 MiB, reserved 70.00 MiB"));
    CHECK_THAT(shown.out, Contains("least capacity 70.00 MiB; 70.00 MiB without emptying its cache"));
    CHECK_THAT(shown.out, Contains("out of memory at event 2, forward, head: 30.00 MiB asked for, with 40.00 MiB allocated and 40.00 MiB"));
    CHECK_THAT(read_file(workshop.path("a.svg")), Contains("<svg") && Contains(">peak 70.00 MiB after event 2, forward<"));
}

TEST_CASE("a trace as JSON tells the same, for the allocator that is named") {
    const Workshop workshop;
    const std::string file = write_a_trace(workshop);
    const auto shown =
        trace(workshop, {file, "--json", "--libtorch", "2.6", "--allocator", "expandable_segments:True", "--capacity", "1GiB"});
    INFO(shown.error);
    REQUIRE(shown.status == 0);
    const json told = json::parse(shown.out);
    CHECK(told["peak"]["bytes"] == 70 << 20);
    CHECK(told["peak"]["parts"]["weights"] == 40 << 20);
    CHECK(told["peak"]["scopes"][0]["scope"] == "encoder");
    CHECK(told["phases"][1]["phase"] == "forward");
    CHECK(told["allocator"]["libtorch"] == "2.6");
    CHECK(told["allocator"]["reserved_bytes"] == 80 << 20);
    CHECK(told["at_capacity"]["survives"] == true);
    CHECK(told["at_capacity"]["refused_bytes"].is_null());
}

TEST_CASE("a script's dry run is recorded by a worker") {
    const Workshop workshop;
    workshop.write("study.lua", script("fault", ""));
    const auto shown = trace(workshop, {"study.lua", "--plan", "micro_batch=3", "--out", "kept.trace"});
    INFO(shown.error);
    REQUIRE(shown.status == 0);
    CHECK_THAT(shown.out,
               Contains("trainer fault") && Contains("trace written to kept.trace") && Contains("peak 130 bytes after event 2, forward"));
    CHECK_THAT(shown.out, Contains("the trainer predicts that 130 bytes are required, and 130 bytes without emptying the cache"));
    CHECK(hpo::allocator::read_trace(workshop.path("kept.trace")).blocks.size() == 2);
    const auto again = trace(workshop, {"kept.trace", "--json"});
    CHECK(json::parse(again.out)["peak"]["bytes"] == 130);
}

TEST_CASE("what keeps a trace from being made is an error of one line") {
    const Workshop workshop;
    workshop.write("throws.lua", script("fault", ", fault = \"throw_in_dry_run\""));
    const auto thrown = trace(workshop, {"throws.lua"});
    CHECK(thrown.status == 6);
    CHECK_THAT(thrown.error, Contains("hpo-tune: error: trainer fault: dry run: std::runtime_error: no meta kernel for aten::frob"));
    workshop.write("none.lua", script("quadratic", ""));
    const auto none = trace(workshop, {"none.lua"});
    CHECK(none.status == 6);
    CHECK_THAT(none.error, Contains("trainer quadratic: dry run: the trainer has none"));
    workshop.write("broken.trace", "hpotrace\x02\x01");
    const auto broken = trace(workshop, {"broken.trace"});
    CHECK(broken.status == 2);
    CHECK_THAT(broken.error, Contains("broken.trace: byte 9: damaged allocation trace: it ends early"));
    const auto version = trace(workshop, {write_a_trace(workshop), "--libtorch", "1.13", "--allocator", "expandable_segments:True"});
    CHECK(version.status == 2);
    CHECK_THAT(version.error, Contains("--allocator: expandable_segments: LibTorch 1.13 does not know this option; it was added in 2.1"));
}

TEST_CASE("a trace that was written before takes no options that say how to record one") {
    const Workshop workshop;
    const std::string file = write_a_trace(workshop);
    const auto one = trace(workshop, {file, "--fix", "x=1"});
    CHECK(one.status == 2);
    CHECK_THAT(one.error, Contains("a.trace: this is a recorded trace, not a study script: --fix needs a study script"));
    const auto more = trace(workshop, {file, "--plan", "micro_batch=3", "--seed", "4", "--out", "b.trace"});
    CHECK(more.status == 2);
    CHECK_THAT(more.error, Contains("--plan, --seed, --out need a study script"));
    CHECK_FALSE(std::filesystem::exists(workshop.path("b.trace")));
}

TEST_CASE("a dry run that fails, or is to be replayed in a way that is refused, leaves no file and changes none") {
    const Workshop workshop;
    std::filesystem::create_directory(workshop.path("tmp"));
    const auto in_own_folder = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {"/usr/bin/env", "TMPDIR=" + workshop.file("tmp"), tool("hpo-tune"), "trace"});
        words.insert(words.end(), {"--plugin-dir", HPO_BINARY_DIR "/tests/trainers"});
        return run_command(workshop, words);
    };
    workshop.write("good.lua", script("fault", ""));
    workshop.write("throws.lua", script("fault", ", fault = \"throw_in_dry_run\""));
    workshop.write("kept.trace", "what was there before");
    CHECK(in_own_folder({"throws.lua", "--out", "kept.trace"}).status == 6);
    CHECK(in_own_folder({"good.lua", "--out", "kept.trace", "--libtorch", "1.13", "--allocator", "expandable_segments:True"}).status == 2);
    CHECK(in_own_folder({"good.lua", "--out", "kept.trace", "--capacity", "much"}).status == 2);
    CHECK(read_file(workshop.path("kept.trace")) == "what was there before");
    CHECK(in_own_folder({"good.lua", "--out", "kept.trace"}).status == 0);
    CHECK(hpo::allocator::read_trace(workshop.path("kept.trace")).blocks.size() == 2);
    CHECK(std::filesystem::is_empty(workshop.path("tmp")));
}

TEST_CASE("a trace is replayed with the version of LibTorch that it was recorded with, unless another is named") {
    const Workshop workshop;
    hpo::allocator::AllocationTrace recorded;
    recorded.libtorch = "1.13.1";
    recorded.take({.bytes = 1 << 20});
    hpo::allocator::write_trace(workshop.path("old.trace"), recorded);
    const json own = json::parse(trace(workshop, {"old.trace", "--json"}).out);
    CHECK(own["allocator"]["libtorch"] == "1.13");
    CHECK(own["recorded_with"] == "1.13.1");
    CHECK_THAT(trace(workshop, {"old.trace"}).out, Contains("recorded with LibTorch 1.13.1"));
    CHECK(json::parse(trace(workshop, {"old.trace", "--json", "--libtorch", "2.6"}).out)["allocator"]["libtorch"] == "2.6");
    CHECK(trace(workshop, {"old.trace", "--allocator", "expandable_segments:True"}).status == 2);  // 1.13 has none
    const json unknown = json::parse(trace(workshop, {write_a_trace(workshop), "--json"}).out);
    CHECK(unknown["recorded_with"].is_null());
    CHECK(unknown["allocator"]["libtorch"] == "2.11");
}

TEST_CASE("options of a trace that make no sense are one error each") {
    const Workshop workshop;
    const std::string file = write_a_trace(workshop);
    const auto error_of = [&](std::vector<std::string> words) {
        words.insert(words.begin(), file);
        const auto result = trace(workshop, words);
        CHECK(result.status == 2);
        CHECK(result.out.empty());
        return result.error;
    };
    CHECK(error_of({"--libtorch", "9.9"}) ==
          "hpo-tune: error: --libtorch: got '9.9'; expected one of 1.13, 2.0, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8, 2.9, 2.10, 2.11\n");
    CHECK_THAT(error_of({"--libtorch", "new"}), Contains("--libtorch: got 'new'; expected one of 1.13, 2.0"));
    CHECK_THAT(error_of({"--top", "-1"}), Contains("--top: got '-1'; " + whole_number_of_at_least(1)));
    CHECK(error_of({"--capacity", "0"}) == "hpo-tune: error: --capacity: got '0'; expected a size above 0, such as 8GiB\n");
}

TEST_CASE("a file that is neither a trace nor a script is said to be neither") {
    const Workshop workshop;
    workshop.write("model.bin", std::string{"\x7f"
                                            "ELF\0\1\2",
                                            7});
    const auto binary = trace(workshop, {"model.bin"});
    CHECK(binary.status == 2);
    CHECK(binary.error == "hpo-tune: error: model.bin: neither an allocation trace nor a study script\n");
    workshop.write("notes.txt", "hello dear reader\n");
    const auto text = trace(workshop, {"notes.txt"});
    CHECK(text.status == 2);
    CHECK_THAT(text.error, Contains("error: notes.txt: neither an allocation trace nor a study script: "));
    workshop.write("mistake.lua", "return hpo.study {\n");
    const auto mistake = trace(workshop, {"mistake.lua"});
    CHECK(mistake.status == 2);
    CHECK_THAT(mistake.error, Contains("error: mistake.lua:") && !Contains("neither"));
    CHECK_THAT(trace(workshop, {"nowhere.lua"}).error, Contains("nowhere.lua: cannot be read") && !Contains("neither"));
}

TEST_CASE("a command that wants a study script says of a trace which command shows it") {
    const Workshop workshop;
    write_a_trace(workshop);
    for (const char* command : {"estimate", "run", "try", "space", "check"}) {
        INFO(command);
        const auto refused = run_command(workshop, {tool("hpo-tune"), command, "a.trace"});
        CHECK(refused.status == 2);
        CHECK_THAT(refused.error, Contains("hpo-tune: error: a.trace: an allocation trace and no study script; hpo-tune trace a.trace "
                                           "shows it\n"));
    }
    CHECK_FALSE(std::filesystem::exists(workshop.path("hpo.db")));
    CHECK(trace(workshop, {"a.trace"}).status == 0);
}

TEST_CASE("a training is recorded where its device is, and what has none or writes no trace is an error of one line") {
    const Workshop workshop;
    workshop.write("q.lua", script("quadratic", ""));
    const auto none = trace(workshop, {"q.lua", "--train"});
    CHECK(none.status == 6);
    CHECK(none.error == "hpo-tune: error: trainer quadratic: its training wrote no trace\n");
    workshop.write("throws.lua", script("fault", ", fault = \"throw\""));
    CHECK_THAT(trace(workshop, {"throws.lua", "--train"}).error, Contains("trainer fault: training: asked to throw"));
    const auto no_device = trace(workshop, {"q.lua", "--train", "--device", "cuda"});
    CHECK(no_device.status == 4);
    CHECK_THAT(no_device.error, Contains("hpo-tune: error: --device: ") && Contains("known: cpu\n"));
    const auto shown = trace(workshop, {write_a_trace(workshop), "--train"});
    CHECK_THAT(shown.error, Contains("this is a recorded trace, not a study script: --train needs a study script"));
}

#ifdef HPO_HAS_IMAGE_CLASSIFIER
TEST_CASE("the traces that the README tells a newcomer to make are made") {
    const Workshop workshop;
    REQUIRE(run_command(workshop, {tool("hpo-tune"), "init", "first_study"}).status == 0);
    std::istringstream readme{read_file(HPO_SOURCE_DIR "/README.md")};
    std::size_t made = 0;
    for (std::string line; std::getline(readme, line);) {
        std::istringstream words{line.substr(0, line.find('#'))};
        std::vector<std::string> command{std::istream_iterator<std::string>{words}, {}};
        if (command.size() < 2 || command[0] != "hpo-tune" || command[1] != "trace") continue;
        command[0] = tool("hpo-tune");
        const auto shown = run_command(workshop, command);
        INFO(line << shown.error);
        CHECK(shown.status == 0);
        CHECK_THAT(shown.out, Contains("peak "));
        ++made;
    }
    CHECK(made > 0);
}

TEST_CASE("real steps are recorded where a configuration has no dry run, and that is said") {
    const Workshop workshop;
    REQUIRE(run_command(workshop, {tool("hpo-tune"), "init", "first_study"}).status == 0);
    const auto shown = run_command(workshop, {tool("hpo-tune"), "trace", "first_study.lua", "--json", "--fix", "model.kind=cnn", "--fix",
                                              "model.channels=8", "--fix", "train.batch_size=64"});
    INFO(shown.error);
    REQUIRE(shown.status == 0);
    const json told = json::parse(shown.out);
    const std::string note = "hpo-tune: note: trainer image_classifier: real steps are recorded, since this configuration has no dry run (";
    CHECK(told["prediction"].is_null() != told["measured"].is_null());  // oneDNN decides whether there is a dry run
    CHECK((shown.error.find(note) != std::string::npos) == told["prediction"].is_null());
}
#endif
