// SPDX-License-Identifier: MIT
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hpo/store/snapshot.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"

using namespace hpo::test;
using Catch::Contains;

namespace {

std::string script(const std::string& command, const std::string& more) {
    return "local hpo = require \"hpo\"\nreturn hpo.study { name = \"s\", trainer = hpo.command " + command +
           ",\n  objective = { metric = \"loss\", direction = \"minimize\" }, sampler = \"random\", pruner = \"none\", seed = 3, workers = "
           "2,\n  " +
           more +
           "\n  space = function(trial) trial:float(\"x\", -5, 5) trial:categorical(\"kind\", { \"a b\", \"$(touch bad)\", \"-x\" }) end "
           "}\n";
}

/// Takes as many MiB as its argument says, which is also its value.
constexpr const char* takes_mebibytes = R"(import sys
b = bytearray(int(sys.argv[1]) << 20)
for i in range(0, len(b), 4096): b[i] = 1
print('@hpo {"value": %s}' % sys.argv[1])
)";

CommandResult tune(const Workshop& workshop, std::vector<std::string> words) {
    words.insert(words.begin(), tool("hpo-tune"));
    return run_command(workshop, words);
}

std::vector<hpo::Trial> trials_of(const Workshop& workshop) {
    hpo::store::Snapshot snapshot{workshop.file("hpo.db")};
    return snapshot.trials(snapshot.study("s"));
}

}  // namespace

TEST_CASE("a study of a program keeps its values, reports, attributes, memory and output") {
    const Workshop workshop;
    workshop.write("train.py", R"(import json, os, sys
reports = os.fdopen(int(os.environ["HPO_REPORT_FD"]), "w", buffering=1)
x = float(sys.argv[1])
for step in (1, 2):
    print(json.dumps({"step": step, "value": x * x + 1 / step}), file=reports)
print("kind", sys.argv[2])
print("@hpo " + json.dumps({"value": x * x, "attr": {"kind": sys.argv[2]}}))
)");
    workshop.write("s.lua", script(R"({ "python3", "train.py", "{x}", "{kind}" })", "trials = 8,"));
    const auto checked = tune(workshop, {"check", "s.lua"});
    INFO(checked.error);
    CHECK(checked.status == 0);
    const auto ran = tune(workshop, {"run", "s.lua", "--progress", "none"});
    INFO(ran.error);
    REQUIRE(ran.status == 0);
    CHECK_THAT(ran.out, Contains("study s: 8 complete") && Contains("best: loss "));
    CHECK(ran.error.empty());
    CHECK_FALSE(std::filesystem::exists(workshop.path("bad")));
    const auto trials = trials_of(workshop);
    REQUIRE(trials.size() == 8);
    for (const hpo::Trial& trial : trials) {
        const double x = *trial.params.number("x");
        REQUIRE(trial.values.size() == 1);
        CHECK(trial.values[0] == Approx(x * x));
        CHECK(trial.intermediate.size() == 2);
        CHECK(trial.user_attributes.at("kind") == hpo::json_text(*trial.params.value("kind")));
        CHECK(trial.attempts.at(0).peak_reserved > std::int64_t{1} << 20);
    }
    CHECK_THAT(run_command(workshop, {tool("hpo-analyze"), "trial", "0", "--store", "hpo.db"}).out, Contains("kind "));
}

TEST_CASE("a program that runs out of memory on a GPU is explained, and the others go on") {
    const Workshop workshop;
    workshop.write("train.py", R"(import sys
if float(sys.argv[1]) > 0:
    raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.69 GiB of which 1.02 GiB is free.")
print('@hpo {"value": 1}')
)");
    workshop.write("s.lua", script(R"({ "python3", "train.py", "{x}" })", "trials = 20,"));
    const auto ran = tune(workshop, {"run", "s.lua", "--progress", "none"});
    INFO(ran.error);
    CHECK(ran.status == 0);
    const auto told = run_command(workshop, {tool("hpo-analyze"), "oom", "--store", "hpo.db"});
    CHECK_THAT(told.out, Contains("asked for 2.00 GiB; 1.02 GiB of 23.69 GiB were free") && Contains("x "));
    for (const hpo::Trial& trial : trials_of(workshop)) {
        CHECK((trial.state == hpo::TrialState::complete) == (*trial.params.number("x") <= 0));
    }
    const auto page = run_command(workshop, {tool("hpo-analyze"), "failures", "--store", "hpo.db"}).out;
    CHECK_THAT(page, Contains("CUDA out of memory. Tried to allocate 2.00 GiB") && !Contains("is free.: RuntimeError"));
}

TEST_CASE("a mistake in the command line of a program is told before anything runs") {
    const Workshop workshop;
    const auto error = [&](const std::string& command) {
        workshop.write("s.lua", script(command, "trials = 2,"));
        const auto checked = tune(workshop, {"check", "s.lua"});
        CHECK(checked.status == 2);
        return checked.error;
    };
    CHECK_THAT(error(R"({ "python3", "train.py", "{y}" })"), Contains("unknown placeholder 'y'"));
    CHECK_THAT(error(R"({ "no-such-program" })"), Contains("the program 'no-such-program' is not there, or cannot be started"));
    CHECK_THAT(error(R"({ "sh", grace = 1 })"),
               Contains("unknown option 'grace'; known: arguments, batch, micro_batch, accumulate, optimize, grace_ms, hard_limit"));
    CHECK_THAT(error(R"({ "sh", grace_ms = -1 })"), Contains("grace_ms: got '-1'; expected a whole number in [0, 3600000]"));
    const auto ran = tune(workshop, {"run", "s.lua"});
    CHECK(ran.status == 2);
}

TEST_CASE("programs on a limited device run alone until their memory is learned, then side by side, and each reserves what it takes") {
    const Workshop workshop;
    workshop.write("train.py", takes_mebibytes);
    workshop.write(
        "s.lua",
        "local hpo = require \"hpo\"\nreturn hpo.study { name = \"s\", trainer = hpo.command { \"python3\", \"train.py\", \"{mb}\" },\n"
        "  objective = { metric = \"mb\", direction = \"minimize\" }, sampler = \"random\", pruner = \"none\", seed = 5, trials = 24, "
        "workers = 3,\n"
        "  device = \"cpu\", device_memory = \"600MiB\", space = function(trial) trial:int(\"mb\", 20, 200) end }\n");
    const auto ran = tune(workshop, {"run", "s.lua", "--progress", "plain"});
    INFO(ran.error);
    REQUIRE(ran.status == 0);
    CHECK_THAT(ran.error, !Contains("instead of a dry run") && !Contains("has measured no memory"));
    int alone = 0, learned = 0;
    for (const hpo::Trial& trial : trials_of(workshop)) {
        REQUIRE(trial.state == hpo::TrialState::complete);
        const hpo::Attempt& attempt = trial.attempts.back();
        REQUIRE(attempt.estimate);
        CHECK(*attempt.peak_reserved > static_cast<std::int64_t>(*trial.params.number("mb")) << 20);
        if (attempt.estimate->source == "alone") {
            ++alone;
            CHECK(attempt.estimate->need == std::int64_t{600} << 20);
        } else {
            ++learned;
            CHECK(attempt.estimate->source == "learned");
            CHECK(*attempt.estimate->need >= *attempt.peak_reserved / 2);
        }
    }
    CHECK(alone >= 4);
    CHECK(learned >= 10);

    const std::string law = " + 1.0 MiB for each unit of mb (from 24 attempts; typical error ";
    const auto analyzed = run_command(workshop, {tool("hpo-analyze"), "memory", "--store", "hpo.db"});
    CHECK_THAT(analyzed.out, Contains("  peaks     roughly ") && Contains(" for each unit of mb"));
    const auto report = nlohmann::json::parse(run_command(workshop, {tool("hpo-analyze"), "memory", "--store", "hpo.db", "--json"}).out);
    REQUIRE(report["laws"].size() == 1);
    const auto& told = report["laws"][0]["law"];
    CHECK_THAT(told["words"].get<std::string>(), Contains(law));
    CHECK(told["kind"] == "products");
    CHECK(told["attempts"] == 24);
    CHECK(told["ran_out_of_memory"] == 0);
    CHECK(told["typical_error"] < 0.05);
    REQUIRE(told["parts"].size() == 2);
    CHECK(told["parts"][0]["factors"].empty());
    CHECK(told["parts"][1]["factors"][0]["parameter"] == "mb");
    CHECK(told["parts"][1]["factors"][0]["power"] == 1);
    CHECK(told["parts"][1]["bytes"].get<double>() == Approx(1 << 20).epsilon(0.05));
    CHECK(told["parts"][1]["conditions"].empty());

    const auto asked = tune(workshop, {"estimate", "s.lua", "--guard", "calibrated", "--fix", "mb=150"});
    INFO(asked.out << asked.error);
    CHECK_THAT(asked.out, Contains("peaks of the study's trials: roughly ") && Contains(law) && Contains("by learned"));
    const auto answer =
        nlohmann::json::parse(tune(workshop, {"estimate", "s.lua", "--guard", "calibrated", "--fix", "mb=150", "--json"}).out);
    CHECK(answer["law"] == told);
    CHECK(answer["source"] == "learned");
    CHECK(answer["need_bytes"] > std::int64_t{150} << 20);
    CHECK(answer["need_bytes"] < std::int64_t{300} << 20);
}

TEST_CASE("a new study of a program that another study of the store ran begins with its peaks") {
    const Workshop workshop;
    workshop.write("train.py", takes_mebibytes);
    const auto write = [&](const std::string& study, const std::string& words) {
        workshop.write("s.lua", "local hpo = require \"hpo\"\nreturn hpo.study { name = \"" + study + "\", trainer = hpo.command { " +
                                    words +
                                    " },\n  objective = { metric = \"mb\", direction = \"minimize\" }, sampler = \"random\", pruner = "
                                    "\"none\", seed = 5, trials = 12, workers = 2,\n  device = \"cpu\", device_memory = \"600MiB\", "
                                    "space = function(trial) trial:int(\"mb\", 20, 200) end }\n");
    };
    const auto sources = [&](const std::string& study) {
        std::vector<std::string> all;
        hpo::store::Snapshot snapshot{workshop.file("hpo.db")};
        for (const hpo::Trial& trial : snapshot.trials(snapshot.study(study))) all.push_back(trial.attempts.at(0).estimate.value().source);
        return all;
    };
    const std::string note = "other studies of the store that ran the same program: s; where peaks are learned, theirs";
    write("s", R"("python3", "train.py", "{mb}")");
    const auto first = tune(workshop, {"run", "s.lua", "--progress", "plain"});
    INFO(first.error);
    REQUIRE(first.status == 0);
    CHECK(sources("s").at(0) == "alone");
    CHECK_THAT(first.error, !Contains("the same program"));

    write("again", R"("python3", "train.py", "{mb}")");
    const auto asked = tune(workshop, {"estimate", "s.lua", "--guard", "calibrated", "--fix", "mb=100"});
    INFO(asked.out << asked.error);
    CHECK_THAT(asked.out, Contains("peaks of the program's trials: roughly ") && Contains("(from 12 attempts of other studies; ") &&
                              Contains("other studies of hpo.db that ran the same program: s\n") && Contains("by learned"));

    const auto second = tune(workshop, {"run", "s.lua", "--trials", "6", "--progress", "plain"});
    INFO(second.error);
    REQUIRE(second.status == 0);
    CHECK_THAT(second.error, Contains(note));
    CHECK(sources("again") == std::vector<std::string>(6, "learned"));

    for (const auto& [study, more] : std::vector<std::pair<std::string, std::vector<std::string>>>{
             {"uncarried", {"--guard", "calibrated:carry=false"}}, {"changed", {}}}) {
        if (study == "changed") write("changed", R"("python3", "train.py", "{mb}", "twice")");
        std::vector<std::string> words{"run", "s.lua", "--study", study, "--trials", "2", "--progress", "plain"};
        words.insert(words.end(), more.begin(), more.end());
        const auto other = tune(workshop, words);
        INFO(other.error);
        REQUIRE(other.status == 0);
        CHECK_THAT(other.error, !Contains("the same program"));
        CHECK(sources(study) == std::vector<std::string>(2, "alone"));
    }
}

TEST_CASE("several objectives of a program, and names of its own for them") {
    const Workshop workshop;
    workshop.write("s.lua",
                   "local hpo = require \"hpo\"\nreturn hpo.study { name = \"s\", trainer = hpo.command { \"sh\", \"-c\", \"echo '@hpo "
                   "{\\\"values\\\": [1, 2]}'\" },\n"
                   "  objectives = { { metric = \"loss\", direction = \"minimize\" }, { metric = \"speed\", direction = \"maximize\" } },\n"
                   "  sampler = \"random\", pruner = \"none\", trials = 3, space = function(trial) trial:float(\"x\", 0, 1) end }\n");
    const auto ran = tune(workshop, {"run", "s.lua", "--progress", "none"});
    INFO(ran.error);
    CHECK(ran.status == 0);
    for (const hpo::Trial& trial : trials_of(workshop)) CHECK(trial.values == std::vector<double>{1, 2});
}

TEST_CASE("a program whose batch may be split is shrunk after it ran out of memory, with the same effective batch") {
    const Workshop workshop;
    workshop.write("train.py", R"(import sys
batch, micro, steps = map(int, sys.argv[1:])
assert micro * steps >= batch
if micro > 16:
    raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.69 GiB of which 1.02 GiB is free.")
print('@hpo {"value": %d}' % micro)
)");
    workshop.write("s.lua",
                   "local hpo = require \"hpo\"\nreturn hpo.study { name = \"s\", trainer = hpo.command { \"python3\", \"train.py\", "
                   "\"{batch}\", \"{micro}\", "
                   "\"{steps}\",\n  batch = \"batch\", micro_batch = \"micro\", accumulate = \"steps\" },\n"
                   "  objective = { metric = \"loss\", direction = \"minimize\" }, sampler = \"random\", seed = 2, pruner = \"none\", "
                   "workers = 1, trials = 6,\n"
                   "  space = function(trial) trial:categorical(\"batch\", { 8, 16, 64 }) end }\n");
    const auto checked = tune(workshop, {"check", "s.lua"});
    INFO(checked.error);
    CHECK(checked.status == 0);
    const auto ran = tune(workshop, {"run", "s.lua", "--progress", "plain"});
    INFO(ran.error << ran.out);
    CHECK(ran.status == 0);
    for (const hpo::Trial& trial : trials_of(workshop)) {
        CHECK(trial.state == hpo::TrialState::complete);
        CHECK(trial.values.at(0) == std::min(16.0, *trial.params.number("batch")));
        CHECK(trial.attempts.back().plan.effective_batch == static_cast<std::int64_t>(*trial.params.number("batch")));
        CHECK(trial.attempts.size() == (*trial.params.number("batch") > 16 ? 3 : 1));
    }
}

TEST_CASE("a silence time ends a program that says nothing, and not one that prints") {
    const Workshop workshop;
    workshop.write("mute.lua", script(R"({ "sleep", "100" })", "trials = 1,"));
    const auto mute = tune(workshop, {"run", "mute.lua", "--store", "mute.db", "--silence-time", "1s", "--progress", "plain"});
    CHECK_THAT(mute.error + mute.out, Contains("timeout: its worker said nothing for 1 s"));
    // What it took was seen several times meanwhile.
    hpo::store::Snapshot kept{workshop.file("mute.db")};
    const auto trials = kept.trials(kept.study("s"));
    REQUIRE(trials.size() == 1);
    CHECK(trials[0].attempts.front().memory.size() >= 1);
    const auto told = run_command(workshop, {tool("hpo-analyze"), "trial", "0", "--store", "mute.db"});
    CHECK_THAT(told.out, Contains("timeout") && !Contains("moment"));  // a table without rows is none
    workshop.write(
        "talks.lua",
        script(R"({ "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do printf %s. $i; sleep 0.5; done; echo; echo '@hpo {\"value\": 1}'" })",
               "trials = 1,"));  // as a progress bar, it ends no line
    const auto talks = tune(workshop, {"run", "talks.lua", "--silence-time", "4s", "--progress", "none"});
    INFO(talks.error << talks.out);
    CHECK(talks.status == 0);
}
