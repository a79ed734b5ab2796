// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/command.hpp"

using namespace hpo::test;
using Catch::Contains;

namespace {

const std::string folder = HPO_BINARY_DIR "/tests/hostile_trainers";

/// HPO_TEST_FLAW while this lives.
class Flaw {
public:
    explicit Flaw(const std::string& name) { ::setenv("HPO_TEST_FLAW", name.c_str(), 1); }
    Flaw(const Flaw&) = delete;
    Flaw& operator=(const Flaw&) = delete;
    ~Flaw() { ::unsetenv("HPO_TEST_FLAW"); }
};

CommandResult check_plugin(std::vector<std::string> words = {"hostile"}) {
    const Workshop workshop;
    words.insert(words.begin(), {tool("hpo-tune"), "check-plugin", "--plugin-dir", folder});
    return run_command(workshop, words);
}

CommandResult with_flaw(const std::string& name, const std::vector<std::string>& words = {"hostile"}) {
    const Flaw flaw{name};
    return check_plugin(words);
}

const std::string study = R"(
local hpo = require "hpo"
return hpo.study {
  name = "hostile", trainer = "hostile", objective = { metric = "score", direction = "maximize" },
  sampler = "random", pruner = "none", recovery = "fail", trials = 2,
  space = function(trial) trial:float("x", 0, 1) end,
}
)";

/// `hpo-tune COMMAND study.lua`, whose trainer has the flaw.
CommandResult study_with_flaw(const std::string& name, const std::string& command, const std::vector<std::string>& more = {}) {
    const Workshop workshop;
    workshop.write("study.lua", study);
    const Flaw flaw{name};
    std::vector<std::string> words{tool("hpo-tune"), command, "study.lua", "--plugin-dir", folder};
    words.insert(words.end(), more.begin(), more.end());
    return run_command(workshop, words);
}

}  // namespace

TEST_CASE("check-plugin passes a trainer that keeps the contract, and says what it tried") {
    const auto good = check_plugin();
    INFO(good.error);
    CHECK(good.status == 0);
    CHECK(good.out == folder + "/libhpo_trainer_hostile.so: trainer hostile keeps the contract; tried with its standard values\n");
    const auto fixed = check_plugin({"hostile", "--fix", "x=0.25", "--fix", "kind=b"});
    CHECK_THAT(fixed.out, Contains("tried with kind = b, x = 0.25\n"));
    const Workshop workshop;
    const auto own = run_command(workshop, {tool("hpo-tune"), "check-plugin", "quadratic"});
    INFO(own.error);
    CHECK(own.status == 0);
}

TEST_CASE("check-plugin tells each broken rule of the contract in a sentence that names the plugin") {
    const std::vector<std::pair<std::string, std::string>> flaws{
        {"twice", "info: parameter 'x' is described twice"},
        {"type", "info: parameter 'x': unknown type 'double'; expected int, float, bool, text, one of A, B, C"},
        {"lever", "info: unknown lever 'micro_bach'; did you mean 'micro_batch'?"},
        {"range", "info: parameter 'x': range '0..1' cannot be read; expected '[LOW, HIGH]'"},
        {"default", "info: parameter 'x': its standard value is '7'; expected a number in [0, 1]"},
        {"unknown_source", "info: unknown source of predictions 'oracle'; known: virtual_card, dry_run, probe"},
        {"source", "predict: info() names the source probe, which is not implemented"},
        {"attribute", "attributes: 'data_hash' is no JSON and would not be kept: sum 1"},
        {"reserved", "attributes: 'lost' is a name that hpo keeps for itself, and would not be kept; give it another name"},
        {"metric", "info: metric 'oom' has a name that hpo keeps for itself; give it another name"},
        {"seed", "seed: the same trainer again gives other values with the same seed"},
        {"stop", "stop: a stop that was asked before the start is not obeyed"},
        {"data", "data: labels.csv: no such file"},
        {"crash", "run: the process ended: signal 11"},
        {"crash_in_forward", "check, in its phase forward: the process ended: signal 11"},
    };
    for (const auto& [flaw, sentence] : flaws) {
        CAPTURE(flaw);
        const auto result = with_flaw(flaw);
        CHECK(result.status == 1);
        CHECK_THAT(result.error, Contains("hpo-tune: error: plugin hostile: " + sentence));
        CHECK_THAT(result.error, Contains("plugin hostile: ") && Contains(" problem"));
        CHECK(result.out.empty());
    }
}

TEST_CASE("check-plugin tells a mistake once, and not what follows from it") {
    for (const auto& [flaw, sentence] : std::vector<std::pair<std::string, std::string>>{{"nan", "report: the value of step 1 is NaN"},
                                                                                         {"throws", "run: the job does not complete: "}}) {
        CAPTURE(flaw);
        const auto result = with_flaw(flaw);
        CHECK(result.status == 1);
        CHECK_THAT(result.error, Contains("hpo-tune: error: plugin hostile: " + sentence) && Contains("plugin hostile: 1 problem\n"));
    }
}

TEST_CASE("check-plugin ends a plugin that hangs, and says where it was") {
    const auto result = with_flaw("hang", {"hostile", "--time-limit", "2s"});
    CHECK(result.status == 1);
    CHECK_THAT(result.error, Contains("plugin hostile: ") && Contains("no answer within 2 s"));
}

TEST_CASE("a plugin that ends or hangs while it is loaded cannot be loaded, and its file is named") {
    const std::string file = folder + "/libhpo_trainer_hostile.so: ";
    for (const auto& [flaw, sentence] : std::vector<std::pair<std::string, std::string>>{
             {"crash_on_load", "the process ended: signal 11, while its library was loaded"},
             {"exit_on_load", "the process ended: status 0, while its library was loaded"},
             {"hang_on_load", "no answer within 2 s, while its library was loaded"},
             {"crash_in_constructor", "the process ended: signal 11, in its trainer's constructor or info()"}}) {
        CAPTURE(flaw);
        const auto result = with_flaw(flaw, {"hostile", "--time-limit", "2s"});
        CHECK(result.status == 6);
        CHECK_THAT(result.error, Catch::StartsWith("hpo-tune: error: " + file + sentence));
        CHECK(std::count(result.error.begin(), result.error.end(), '\n') == 1);
        const auto told = nlohmann::json::parse(with_flaw(flaw, {"hostile", "--time-limit", "2s", "--json"}).out);
        CHECK(told.at("file") == folder + "/libhpo_trainer_hostile.so");
        CHECK_THAT(told.at("error").get<std::string>(), Contains(sentence));
    }
}

TEST_CASE("a plugin that was cut short is not loaded, and may be damaged") {
    const Workshop workshop;
    const auto cut = workshop.path("libhpo_trainer_hostile.so");
    std::filesystem::copy_file(folder + "/libhpo_trainer_hostile.so", cut);
    for (const int part : {2, 10}) {
        std::filesystem::resize_file(cut, std::filesystem::file_size(folder + "/libhpo_trainer_hostile.so") / part);
        for (const std::string command : {"check-plugin", "policies"}) {
            CAPTURE(part, command);
            const auto result = run_command(workshop, {tool("hpo-tune"), command, command == "policies" ? "trainer" : "hostile",
                                                       "--plugin-dir", cut.parent_path().string()});
            if (command == "check-plugin") CHECK(result.status == 6);
            CHECK_THAT(result.out + result.error, Contains(cut.string() + ": has ") && Contains("may be damaged"));
        }
    }
}

TEST_CASE("check-plugin takes a plugin's file as well as its name") {
    const Workshop workshop;
    const auto check = [&](const std::string& name) { return run_command(workshop, {tool("hpo-tune"), "check-plugin", name}); };
    const auto good = check(folder + "/libhpo_trainer_hostile.so");
    INFO(good.error);
    CHECK(good.status == 0);
    CHECK_THAT(good.out, Catch::StartsWith(folder + "/libhpo_trainer_hostile.so: trainer hostile keeps the contract"));
    const auto missing = check(folder + "/libhpo_trainer_missing.so");
    CHECK(missing.status == 6);
    CHECK(missing.error == "hpo-tune: error: " + folder + "/libhpo_trainer_missing.so: does not exist; expected a trainer plugin\n");
    const auto other = check("some/hostile.so");
    CHECK(other.status == 2);
    CHECK_THAT(other.error, Contains("got 'some/hostile.so'; expected a plugin's name, such as quadratic, or its file"));
}

TEST_CASE("what a constructor or info() throws is told") {
    const auto constructor = with_flaw("constructor");
    CHECK(constructor.status == 6);
    CHECK(constructor.error == "hpo-tune: error: trainer hostile: create: std::runtime_error: no licence\\nask its owner\n");
    const auto info = with_flaw("info");
    CHECK(info.status == 6);
    CHECK(info.error == "hpo-tune: error: trainer hostile: info: std::runtime_error: no list of parameters\n");
    const auto run = study_with_flaw("info", "run");
    CHECK(run.status == 6);
    CHECK_THAT(run.error, Contains("std::runtime_error: no list of parameters"));
}

TEST_CASE("check-plugin asks for what has no standard value, and refuses wrong values") {
    const auto missing = with_flaw("required");
    CHECK(missing.status == 2);
    CHECK(missing.error == "hpo-tune: error: trainer hostile has parameters without a standard value; give them: --fix x=VALUE\n");
    CHECK(with_flaw("required", {"hostile", "--fix", "x=0.5"}).status == 0);
    const auto refusal = [](const std::string& fixed) {
        const auto result = check_plugin({"hostile", "--fix", fixed});
        CHECK(result.status == 2);
        return result.error;
    };
    CHECK(refusal("x=2") == "hpo-tune: error: --fix x: got '2'; expected a number in [0, 1]\n");
    CHECK_THAT(refusal("y=2"), Contains("--fix: unknown parameter 'y'") && Contains("known: x, kind"));
    CHECK_THAT(refusal("x"), Contains("--fix: got 'x'; expected NAME=VALUE"));
    const auto unknown = check_plugin({"hostil"});
    CHECK(unknown.status == 6);
    CHECK_THAT(unknown.error, Contains("did you mean 'hostile'?"));
}

TEST_CASE("check-plugin answers as JSON, with the same status") {
    const auto good = nlohmann::json::parse(check_plugin({"hostile", "--json"}).out);
    CHECK(good.at("ok") == true);
    CHECK(good.at("problems").empty());
    const auto result = with_flaw("twice", {"hostile", "--json"});
    CHECK(result.status == 1);
    const auto bad = nlohmann::json::parse(result.out);
    CHECK(bad.at("ok") == false);
    CHECK(bad.at("problems") == nlohmann::json::array({"info: parameter 'x' is described twice"}));
}

TEST_CASE("check holds a script against the trainer's description, and the description against itself") {
    const Workshop workshop;
    workshop.write("study.lua", study);
    const auto check = [&] { return run_command(workshop, {tool("hpo-tune"), "check", "study.lua", "--plugin-dir", folder}); };
    CHECK(check().status == 0);
    for (const auto& [flaw, sentence] :
         std::vector<std::pair<std::string, std::string>>{{"twice", "trainer hostile: parameter 'x' is described twice"},
                                                          {"range", "trainer hostile: parameter 'x': range '0..1' cannot be read"},
                                                          {"lever", "trainer hostile: unknown lever 'micro_bach'"}}) {
        const Flaw set{flaw};
        const auto result = check();
        CHECK(result.status == 2);
        CHECK_THAT(result.error, Contains(sentence));
    }
    std::string wrong = study;
    wrong.replace(wrong.find("maximize"), 8, "minimize");
    workshop.write("study.lua", wrong);
    const std::string refusal =
        "hpo-tune: error: study.lua:4: direction of the metric 'score': got 'minimize'; expected 'maximize', as trainer hostile declares "
        "it";
    CHECK_THAT(check().error, Contains(refusal));
    const auto run = run_command(workshop, {tool("hpo-tune"), "run", "study.lua", "--plugin-dir", folder});
    CHECK(run.status == 2);
    CHECK_THAT(run.error, Contains(refusal));
}

TEST_CASE("what a trainer finds wrong with its data is told under its name, by check and by run alike") {
    for (const char* const command : {"check", "run"}) {
        CAPTURE(command);
        const auto result = study_with_flaw("data", command);
        CHECK(result.status != 0);
        CHECK_THAT(result.error, Contains("hpo-tune: error: trainer hostile: data: labels.csv: no such file\n"));
    }
}

TEST_CASE("what a trainer throws while it is asked for problems is told once, with its name") {
    const auto result = study_with_flaw("throws_in_check", "check");
    CHECK(result.status == 2);
    CHECK_THAT(result.error, Contains("hpo-tune: error: trainer hostile: check: std::runtime_error: no data\n"));
}

TEST_CASE("try shows the begin of a long attribute, and --json all of it") {
    const auto shown = study_with_flaw("long_attribute", "try");
    CHECK(shown.status == 0);
    CHECK_THAT(shown.out, Contains("classes: \"ccc") && Contains("c…\n"));
    CHECK(shown.out.size() < 4000);
    CHECK_THAT(study_with_flaw("long_attribute", "try", {"--json"}).out, Contains(std::string(100'000, 'c')));
}

TEST_CASE("an attribute that is no JSON leaves its trial complete, and a note says so, once a name") {
    const Workshop workshop;
    workshop.write("study.lua", study);
    const Flaw flaw{"attribute"};
    const std::string note = "attribute 'data_hash' is no JSON and is not kept: sum 1; set_text writes a text as JSON";
    const auto run = run_command(workshop, {tool("hpo-tune"), "run", "study.lua", "--plugin-dir", folder});
    INFO(run.error);
    CHECK(run.status == 0);
    CHECK_THAT(run.out, Contains("2 complete"));
    const auto at = run.error.find(note);
    REQUIRE(at != std::string::npos);
    CHECK(run.error.find(note, at + 1) == std::string::npos);
    const auto shown = run_command(workshop, {tool("hpo-analyze"), "trial", "0"});
    CHECK_THAT(shown.out, Contains("dropped_attributes"));
    const auto tried = run_command(workshop, {tool("hpo-tune"), "try", "study.lua", "--plugin-dir", folder});
    CHECK(tried.status == 0);
    CHECK_THAT(tried.error, Contains("hpo-tune: note: " + note));
}

TEST_CASE("an attribute under a name that hpo keeps for itself neither keeps a study running nor stays") {
    const Workshop workshop;
    workshop.write("study.lua", study);
    const Flaw flaw{"reserved"};
    const auto run = run_command(workshop, {tool("hpo-tune"), "run", "study.lua", "--plugin-dir", folder, "--time", "30s"});
    INFO(run.error);
    CHECK(run.status == 0);
    CHECK_THAT(run.out, Contains("2 complete;"));
    CHECK_THAT(run.error, Contains(": attribute 'lost' has a name that hpo keeps for itself, and is not kept"));
    CHECK_THAT(run_command(workshop, {tool("hpo-analyze"), "summary"}).out, Contains("2 complete") && !Contains("interrupted"));
}

TEST_CASE("check-plugin's help names each exit status") {
    CHECK_THAT(check_plugin({"--help"}).out, Contains("Exit 0: ") && Contains("; 1: ") && Contains("; 2: ") && Contains("; 6: "));
}

TEST_CASE("the command that run and try print for a saved model works for a plugin of one's own, in a folder that needs quotes") {
    const Workshop workshop;
    workshop.write("study.lua", study);
    std::filesystem::create_directory(workshop.path("my plugins"));
    std::filesystem::copy_file(folder + "/libhpo_trainer_hostile.so", workshop.path("my plugins") / "libhpo_trainer_hostile.so");
    const auto printed = [&](std::vector<std::string> words) {
        words.insert(words.begin(), tool("hpo-tune"));
        const auto result = run_command(workshop, words);
        INFO(result.error);
        CHECK(result.status == 0);
        const std::string before = "measure it again: ";
        const auto at = result.out.find(before);
        REQUIRE(at != std::string::npos);
        const std::string command = result.out.substr(at + before.size());
        return command.substr(0, command.find('\n'));
    };
    for (const std::string& command : {printed({"run", "study.lua", "--plugin-dir", "my plugins", "--save-best=it's best"}),
                                       printed({"try", "study.lua", "--plugin-dir", "my plugins", "--save", "tried"})}) {
        CHECK_THAT(command, Catch::EndsWith(" --plugin-dir 'my plugins'"));
        const std::string here = "PATH=" HPO_BINARY_DIR "/bin:$PATH; ";
        const auto measured = run_command(workshop, {"/bin/sh", "-c", here + command});
        INFO(command + "\n" + measured.error);
        CHECK(measured.status == 0);
        CHECK_THAT(measured.out, Contains("score"));
    }
}
