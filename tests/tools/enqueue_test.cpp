// SPDX-License-Identifier: MIT
// What a person knows to be good is tried first: hpo-tune enqueue.
#include <filesystem>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/command.hpp"

using namespace hpo::test;
using Catch::Contains;

namespace {

const std::string space = "trial:float(\"x\", -5, 5) trial:int(\"y\", 1, 8)";

std::string quadratic(const std::string& of) {
    return "local hpo = require \"hpo\"\nreturn hpo.study { name = \"s\", trainer = \"quadratic\", workers = 1, sampler = \"random\",\n"
           "  objective = { metric = \"value\", direction = \"minimize\" }, space = function(trial) " +
           of + " end }\n";
}

CommandResult run_tool(const char* name, const Workshop& workshop, std::vector<std::string> words) {
    words.insert(words.begin(), tool(name));
    return run_command(workshop, words);
}
CommandResult tune(const Workshop& workshop, const std::vector<std::string>& words) { return run_tool("hpo-tune", workshop, words); }
CommandResult analyze(const Workshop& workshop, const std::vector<std::string>& words) { return run_tool("hpo-analyze", workshop, words); }

}  // namespace

TEST_CASE("values that a person enqueues are tried first, and the rest is drawn") {
    const Workshop workshop;
    workshop.write("s.lua", quadratic(space));
    const auto run = [&](const char* trials) { return tune(workshop, {"run", "s.lua", "--trials", trials, "--progress", "none"}); };
    REQUIRE(run("2").status == 0);
    const auto told = tune(workshop, {"enqueue", "s", "x=0.25", "y=3"});
    CHECK(told.status == 0);
    CHECK(told.out == "trial 2 waits: x 0.25, y 3\nthe next run of study s begins with what waits\n");
    CHECK_THAT(tune(workshop, {"enqueue", "x=0.5", "--json"}).out, Contains("\"trial\": 3"));  // the only study
    REQUIRE(run("4").status == 0);
    const auto trials = analyze(workshop, {"trials"}).out;
    CHECK_THAT(trials, Contains("x 0.25, y 3") && Contains("x 0.5, y "));
}

TEST_CASE("what a study cannot have is refused before anything is written") {
    const Workshop workshop;
    workshop.write("s.lua", quadratic(space));
    REQUIRE(tune(workshop, {"run", "s.lua", "--trials", "1", "--progress", "none"}).status == 0);
    const auto refused = [&](std::vector<std::string> words) {
        words.insert(words.begin(), "enqueue");
        const auto result = tune(workshop, words);
        CHECK(result.status == 2);
        return result.error;
    };
    CHECK_THAT(refused({"s", "x=7"}), Contains("parameter 'x': got 7; expected float [-5, 5]"));
    CHECK_THAT(refused({"s", "y=1.5"}), Contains("parameter 'y': got 1.5; expected int [1, 8]"));
    CHECK_THAT(refused({"s", "m=2"}), Contains("unknown parameter 'm'") && Contains("known: x, y"));
    CHECK_THAT(refused({"s", "x=1", "x=2"}), Contains("x is given twice"));
    CHECK_THAT(refused({"t", "x=1"}), Contains("unknown study 't'") && Contains("known: s"));
    CHECK_THAT(refused({"s"}), Contains("expected NAME=VALUE for some parameters, --from STUDY or --csv FILE"));
    CHECK_THAT(refused({"s", "x=1", "--from", "s"}), Contains("expected NAME=VALUE"));
    CHECK_THAT(tune(workshop, {"enqueue", "x=1", "--store", "absent.db"}).error, Contains("absent.db': there is no such file"));
    CHECK_FALSE(std::filesystem::exists(workshop.file("absent.db")));
    CHECK_THAT(analyze(workshop, {"trials", "--json"}).out, !Contains("WAITING"));
}

TEST_CASE("the best of another study are taken as far as this one can have them, and what is left out is said") {
    const Workshop workshop;
    workshop.write("s.lua", quadratic(space));
    workshop.write("t.lua", quadratic("trial:float(\"x\", -0.001, 0.001)"));
    REQUIRE(tune(workshop, {"run", "s.lua", "--trials", "5", "--progress", "none"}).status == 0);
    REQUIRE(tune(workshop, {"run", "t.lua", "--study", "t", "--trials", "1", "--progress", "none"}).status == 0);
    const auto taken = tune(workshop, {"enqueue", "s", "--from", "t"});
    CHECK(taken.status == 0);
    CHECK_THAT(taken.out, Contains("trial 5 waits: x "));
    const auto none = tune(workshop, {"enqueue", "t", "--from", "s", "--best", "2"});
    CHECK(none.status != 0);
    CHECK_THAT(none.error, Contains("--from: no parameter of study 's' is one of this study"));
}

TEST_CASE("the trials of a CSV file are tried, with Optuna's column names or plain ones") {
    const Workshop workshop;
    workshop.write("s.lua", quadratic(space));
    REQUIRE(tune(workshop, {"run", "s.lua", "--trials", "1", "--progress", "none"}).status == 0);
    workshop.write("plain.csv", "x,y\r\n0.25,3\r\n,4\r\n\r\n");
    const auto plain = tune(workshop, {"enqueue", "s", "--csv", "plain.csv"});
    CHECK(plain.out == "trial 1 waits: x 0.25, y 3\ntrial 2 waits: y 4\nthe next run of study s begins with what waits\n");
    workshop.write("frame.csv", ",number,value,params_x,user_attrs_note\n0,0,1.5,\"0.5\",\"a, \"\"b\"\"\"\n");
    CHECK(tune(workshop, {"enqueue", "s", "--csv", "frame.csv"}).out ==
          "trial 3 waits: x 0.5\nthe next run of study s begins with what waits\n");
    REQUIRE(tune(workshop, {"run", "s.lua", "--trials", "4", "--progress", "none"}).status == 0);
    CHECK_THAT(analyze(workshop, {"trials"}).out, Contains("x 0.25, y 3") && Contains("y 4") && Contains("x 0.5, y "));

    const auto refused = [&](const std::string& text) {
        workshop.write("wrong.csv", text);
        const auto result = tune(workshop, {"enqueue", "s", "--csv", "wrong.csv"});
        CHECK(result.status == 2);
        return result.error;
    };
    CHECK_THAT(refused("x,y\n1,2\n7,2\n"), Contains("--csv wrong.csv:3: parameter 'x': got 7; expected float [-5, 5]"));
    CHECK_THAT(refused("x,y\n1\n"), Contains("--csv wrong.csv:2: got 1 cells; expected 2, as the first line has"));
    CHECK_THAT(refused("x,m\n1,2\n"), Contains("--csv wrong.csv:2: unknown parameter 'm'"));
    CHECK_THAT(refused("x\n\"1\n"), Contains("--csv wrong.csv:2: expected an end of the quotes"));
    CHECK_THAT(refused("x\n"), Contains("--csv wrong.csv: it has no trial"));
    CHECK_THAT(tune(workshop, {"enqueue", "s", "--csv", "absent.csv"}).error, Contains("--csv absent.csv: there is no such file"));
}

TEST_CASE("a script's enqueued trials are the first of a new study, once") {
    const Workshop workshop;
    const auto with = [](const std::string& enqueue) {
        std::string script = quadratic(space);
        return script.insert(script.find("space ="), "enqueue = " + enqueue + ",\n  ");
    };
    workshop.write("s.lua", with("{ { x = 0.25, y = 3 }, { y = 4 } }"));
    CHECK(tune(workshop, {"check", "s.lua"}).status == 0);
    for (const char* const count : {"1", "3", "5"})
        REQUIRE(tune(workshop, {"run", "s.lua", "--trials", count, "--progress", "none"}).status == 0);
    const std::string trials = analyze(workshop, {"trials"}).out;
    CHECK_THAT(trials, Contains("x 0.25, y 3") && Contains(", y 4"));
    CHECK(trials.find("x 0.25, y 3") == trials.rfind("x 0.25, y 3"));

    const auto refused = [&](const std::string& enqueue) {
        workshop.write("w.lua", with(enqueue));
        const auto checked = tune(workshop, {"check", "w.lua"});
        CHECK(checked.status == 2);
        const auto result = tune(workshop, {"run", "w.lua", "--study", "w", "--progress", "none"});
        CHECK(result.status == 2);
        return result.error;
    };
    CHECK_THAT(refused("{ { x = 0.25 }, { x = 9 } }"), Contains("w.lua:3: enqueue[2]: ") && Contains("got 9; expected float [-5, 5]"));
    CHECK_THAT(refused("{ { m = 1 } }"), Contains("w.lua:3: enqueue[1]: unknown parameter 'm'") && Contains("known: x, y"));
    CHECK_THAT(refused("{ x = 1 }"), Contains("enqueue: expected a list of tables"));
    CHECK_THAT(refused("{ 1 }"), Contains("got a number for enqueue[1]; expected a table"));
    CHECK_THAT(refused("3"), Contains("got a number for enqueue; expected a list"));
}
