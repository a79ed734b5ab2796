// SPDX-License-Identifier: MIT
#include "command/command_line.hpp"

#include <cstdlib>

#include "support/catch.hpp"

using Catch::Contains;
using hpo::command::filled;
using Words = std::vector<std::string>;

TEST_CASE("a file that an interpreter is to run is missed only where it is known to be one") {
    const auto missing = [](std::vector<std::string> words) { return hpo::command::missing_file(words); };
    CHECK(missing({"python3", "nosuch.py", "--lr", "1"}) == "nosuch.py");
    CHECK(missing({"/usr/bin/python3.11", "-u", "a/nosuch.py"}) == "a/nosuch.py");
    CHECK(missing({"bash", "nosuch.sh"}) == "nosuch.sh");
    CHECK(missing({"env", "python3", "nosuch.py"}) == "nosuch.py");
    CHECK(missing({"/usr/bin/env", "A=1", "B=", "torchrun", "--nproc_per_node", "2", "nosuch.py", "other.py"}) == "nosuch.py");
    CHECK(missing({"accelerate", "launch", "--config_file=a.yaml", "nosuch.py"}) == "nosuch.py");
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"python3", "-m", "package.nosuch.py"},
                                                                                       {"python3", "-c", "nosuch.py"},
                                                                                       {"python3", "-W", "ignore", "nosuch.py"},
                                                                                       {"python3"},
                                                                                       {"sh", "-c", "cd x; python nosuch.py"},
                                                                                       {"bash", "-lc", "source env.sh && bash run.sh"},
                                                                                       {"bash", "-ec", "run.sh"},
                                                                                       {"perl", "-ne", "a.pl"},
                                                                                       {"python3", "-", "nosuch.py"},
                                                                                       {"env"},
                                                                                       {"env", "A=1"},
                                                                                       {"env", "-u", "A", "python3", "nosuch.py"},
                                                                                       {"torchrun", "--nnodes", "2", "-m", "train", "a.py"},
                                                                                       {"torchrun"},
                                                                                       {"echo", "A=1", "python3", "nosuch.py"},
                                                                                       {"shuf", "nosuch.sh"}})
        CHECK(missing(words).empty());
}

TEST_CASE("the words of a command line are a JSON list of texts") {
    CHECK(hpo::command::words_of(R"(["python3", "a b", "{x}", ""])") == Words{"python3", "a b", "{x}", ""});
    for (const char* wrong : {"", "python3 train.py", "{}", "[]", "[\"\"]", "[1]", "[[\"a\"]]", R"(["a\u0000b"])"}) {
        INFO(wrong);
        CHECK_THROWS_WITH(hpo::command::words_of(wrong), Contains("option 'arguments': got ") && Contains("a JSON list of the program"));
    }
}

TEST_CASE("a name in braces is replaced, and all other braces stay") {
    const hpo::command::Placeholders known{{"x", "1.5"}, {"optim.lr", "0.1"}, {"text", "{x} {{ }} $(y)"}};
    CHECK(filled("--x={x}", known) == "--x=1.5");
    CHECK(filled("{optim.lr}{x}", known) == "0.11.5");
    CHECK(filled("{text}", known) == "{x} {{ }} $(y)");  // what is put in is not looked at again
    CHECK(filled("{{x}}", known) == "{x}");
    CHECK(filled("{{x}", known) == "{1.5");
    CHECK(filled(R"({"a": {"b": {x}}})", known) == R"({"a": {"b": 1.5}})");
    CHECK(filled("{ print $1 } {} {1} { x } {x", known) == "{ print $1 } {} {1} { x } {x");
    CHECK(filled(R"({"lr": 1})", known) == R"({"lr": 1})");
    CHECK_THROWS_WITH(filled("--lr={optim.lrr}", known),
                      Contains("command line: '--lr={optim.lrr}': unknown placeholder 'optim.lrr'") && Contains("did you mean 'optim.lr'"));
    CHECK_THROWS_WITH(filled("{zero}", {{"zero", std::string(1, '\0')}}), Contains("a zero byte"));
    CHECK(hpo::command::names_in({"a", "{x}{optim.lr}", "{x} {{y}} {1}"}) == Words{"x", "optim.lr"});
}

TEST_CASE("a command line can hold the trial's parameters and its plan") {
    hpo::TrainerJob job;
    job.study = "s";
    job.trial = 7;
    job.attempt = 2;
    job.params = {{"lr", 1e-5}, {"layers", std::int64_t{3}}, {"bias", true}, {"kind", "a b"}, {"trial", "mine"}};
    job.plan.effective_batch = 64;
    job.plan.micro_batch = 24;
    job.plan.device = "cuda:3";
    const auto known = hpo::command::placeholders_of(job);
    CHECK(filled("{lr} {layers} {bias} {kind}", known) == "1e-05 3 true a b");
    CHECK(filled("{plan.micro_batch} {plan.accumulation_steps} {plan.effective_batch} {plan.precision}", known) == "24 3 64 fp32");
    CHECK(filled("{plan.device}", known) == "cuda:0");  // a worker sees only its device
    CHECK(filled("{study} {attempt} [{resume_step}]", known) == "s 2 []");
    CHECK(filled("{trial}", known) == "mine");
    CHECK_FALSE(hpo::command::placeholders_of({}).contains("plan.micro_batch"));
    for (const double exact : {0.1234561668536002, 8.833841612651114e+19, 0.1, -0.0, 5e-324}) {
        job.params.insert_or_assign("lr", exact);
        CHECK(std::strtod(filled("{lr}", hpo::command::placeholders_of(job)).c_str(), nullptr) == exact);
    }
}
