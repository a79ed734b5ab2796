// SPDX-License-Identifier: MIT
#include "hpo/trainer/settings.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "hpo/trainer/declare.hpp"
#include "hpo/trainer/info_problems.hpp"

#include "support/catch.hpp"

namespace {

hpo::TrainerInfo info() {
    hpo::TrainerInfo info;
    info.name = "demo";
    info.parameters = {
        {"rate", "float", "(0, inf)", 0.5, ""},
        {"units", "int", "[1, 64]", std::int64_t{8}, ""},
        {"kind", "one of red, light blue", "", std::string{"red"}, ""},
        {"fast", "bool", "", false, ""},
        {"folder", "text", "", hpo::Value{}, ""},
    };
    return info;
}

hpo::TrainerJob job() {
    hpo::TrainerJob job;
    job.options["folder"] = std::string{"/data"};
    return job;
}

std::string only_problem(const hpo::TrainerJob& wrong) {
    const auto problems = hpo::Settings::problems(info(), wrong);
    REQUIRE(problems.size() == 1);
    CHECK_THROWS_WITH((hpo::Settings{info(), wrong}), problems[0].where + ": " + problems[0].what);
    return problems[0].where + ": " + problems[0].what;
}

}  // namespace

TEST_CASE("settings are parameters, then options, then standard values") {
    auto given = job();
    given.params["units"] = std::int64_t{16};
    given.options["units"] = std::int64_t{32};
    given.options["fast"] = true;
    const hpo::Settings settings{info(), given};
    CHECK(settings.whole("units") == 16);
    CHECK(settings.truth("fast"));
    CHECK(settings.number("rate") == 0.5);
    CHECK(settings.text("kind") == "red");
    CHECK(settings.text("folder") == "/data");
    CHECK(settings.configuration() == "units = 16");
    CHECK_THROWS_AS(settings.whole("missing"), hpo::Error);
}

TEST_CASE("a wrong reader is an error with the name, its type and what was asked, for every pair of types") {
    const hpo::Settings settings{info(), job()};
    const std::string rate = "the trainer reads 'rate' as a whole number, and its own list makes it a number; expected number()";
    CHECK_THROWS_WITH(settings.whole("rate"), rate);
    CHECK_THROWS_WITH(settings.text("units"),
                      "the trainer reads 'units' as a text, and its own list makes it a whole number; expected whole() or number()");
    CHECK_THROWS_WITH(settings.number("kind"), "the trainer reads 'kind' as a number, and its own list makes it a text; expected text()");
    CHECK_THROWS_WITH(settings.number("fast"),
                      "the trainer reads 'fast' as a number, and its own list makes it true or false; expected truth()");
    for (const char* name : {"rate", "units", "kind", "folder"}) CHECK_THROWS_AS(settings.truth(name), hpo::Error);
    for (const char* name : {"rate", "units", "fast"}) CHECK_THROWS_AS(settings.text(name), hpo::Error);
    for (const char* name : {"kind", "fast", "folder"}) CHECK_THROWS_AS(settings.whole(name), hpo::Error);
}

TEST_CASE("whole numbers pass for numbers and the other way round where nothing is lost") {
    auto given = job();
    given.params["rate"] = std::int64_t{3};
    given.params["units"] = 4.0;
    const hpo::Settings settings{info(), given};
    CHECK(settings.number("rate") == 3.0);
    CHECK(settings.whole("units") == 4);
    given.params["units"] = 4.5;
    CHECK_THAT(only_problem(given), Catch::Contains("units: got '4.5'; expected a whole number in [1, 64]"));
}

TEST_CASE("values outside their range or of another type are refused") {
    auto given = job();
    given.params["rate"] = 0.0;
    CHECK_THAT(only_problem(given), Catch::Contains("rate: got '0'; expected a number in (0, inf)"));
    given = job();
    given.params["units"] = std::int64_t{65};
    CHECK_THAT(only_problem(given), Catch::Contains("units"));
    given = job();
    given.params["kind"] = std::string{"blue"};
    CHECK_THAT(only_problem(given), Catch::Contains("one of red, light blue"));
    given.params["kind"] = std::string{"light blue"};
    CHECK(hpo::Settings::problems(info(), given).empty());
    given = job();
    given.params["fast"] = std::int64_t{1};
    CHECK_THAT(only_problem(given), Catch::Contains("true or false"));
}

TEST_CASE("a value that has no standard must be given") {
    CHECK_THAT(only_problem(hpo::TrainerJob{}), Catch::Contains("folder: got nothing"));
}

TEST_CASE("names that the trainer does not know are all told, with the nearest known one") {
    auto given = job();
    given.params["unit"] = std::int64_t{1};
    given.options["speed"] = std::int64_t{1};
    const auto problems = hpo::Settings::problems(info(), given);
    REQUIRE(problems.size() == 2);
    CHECK(problems[0].what == "unknown parameter 'unit'; did you mean 'units'?; known: rate, units, kind, fast, folder");
    CHECK_THAT(problems[1].what, Catch::Contains("unknown option 'speed'"));
}

TEST_CASE("a list that cannot be understood is a mistake of the plugin, which is named") {
    auto broken = info();
    broken.parameters[1].range = "1 to 64";
    CHECK_THROWS_WITH(
        (hpo::Settings{broken, job()}),
        "trainer demo: parameter 'units': range '1 to 64' cannot be read; expected '[LOW, HIGH]' with ( or ) where a bound is "
        "not included, inf for no bound");
    broken.parameters[1] = {"units", "integer", "", std::int64_t{8}, ""};
    CHECK_THROWS_WITH((hpo::Settings{broken, job()}),
                      "trainer demo: parameter 'units': unknown type 'integer'; expected int, float, bool, text, one of A, B, C");
    broken.parameters[1] = {"units", "text", "[1, 2]", std::string{"a"}, ""};
    CHECK_THROWS_WITH((hpo::Settings{broken, job()}), Catch::Contains("range '[1, 2]' of a parameter of type 'text'"));
}

TEST_CASE("a range is two numbers in brackets, and holds at least one number") {
    const auto range = [](const char* text) { return hpo::ParameterRange::parse(text); };
    REQUIRE(range("[1, 64]"));
    CHECK(range("[1, 64]")->contains(64));
    CHECK_FALSE(range("[1, 64)")->contains(64));
    CHECK_FALSE(range("(0,inf)")->contains(0));
    CHECK(range("(-inf, 1e-3]")->contains(-1e300));
    CHECK(range("[2, 2]")->contains(2));
    CHECK_FALSE(range("[0, 1]")->contains(std::nan("")));
    for (const char* wrong : {"", "1 to 64", "[1; 64]", "[1 64]", "[1, 64", "1, 64]", "{1, 64}", "[a, 64]", "[1, ]", "[64, 1]", "(2, 2]",
                              "[1, 2, 3]", "[nan, 1]"}) {
        CAPTURE(wrong);
        CHECK_FALSE(range(wrong));
    }
    for (const char* text : {"[1, 64]", "(0, inf)", "[-inf, 0.25)", "[1e-05, 1]"}) CHECK(range(text)->text() == text);
}

TEST_CASE("a job for shapes alone may leave out what has no standard value, and nothing else") {
    hpo::TrainerJob shapes;
    shapes.shapes_only = true;
    const hpo::Settings settings{info(), shapes};
    CHECK_FALSE(settings.given("folder"));
    CHECK(settings.given("units"));
    shapes.params["rate"] = -1.0;
    CHECK(hpo::Settings::problems(info(), shapes).size() == 1);
}

TEST_CASE("declared parameters are what the strings say, and refuse a standard value outside their range") {
    namespace declare = hpo::declare;
    const auto written = [](const hpo::TrainerParameter& parameter) {
        return parameter.name + ": " + parameter.type + " " + parameter.range + " " + hpo::display_text(parameter.standard) + " " +
               parameter.help;
    };
    CHECK(written(declare::integer("width", 1, 512, {.standard = 32, .help = "units"})) == "width: int [1, 512] 32 units");
    CHECK(written(declare::real("dropout", 0, 1, {.standard = 0.5}, declare::Bounds::low)) == "dropout: float [0, 1) 0.5 ");
    CHECK(declare::real("rate", 0, std::numeric_limits<double>::infinity(), {}, declare::Bounds::neither).range == "(0, inf)");
    CHECK(written(declare::choice("kind", {"red", "light blue"}, {.standard = "red"})) == "kind: one of red, light blue  red ");
    CHECK(written(declare::truth("fast", {.standard = true})) == "fast: bool  true ");
    CHECK(declare::text("folder").standard.is_null());
    CHECK(declare::truth("fast", {.memory = hpo::MemoryUse::none}).memory == hpo::MemoryUse::none);
    CHECK_THROWS_WITH(declare::integer("width", 1, 512, {.standard = 1024}),
                      "parameter 'width': its standard value is '1024'; expected a whole number in [1, 512]");
    CHECK_THROWS_WITH(declare::integer("width", 512, 1), Catch::Contains("range '[512, 1]' cannot be read"));
    CHECK_THROWS_WITH(declare::choice("kind", {}), Catch::Contains("no choices"));
    CHECK_THROWS_WITH(declare::choice("kind", {"a, b"}), Catch::Contains("without ', '"));
    CHECK_THROWS_WITH(declare::choice("kind", {"a", "b"}, {.standard = "c"}),
                      Catch::Contains("its standard value is 'c'; expected one of a, b"));
}

TEST_CASE("what is wrong with a trainer's description is told, a sentence each") {
    hpo::TrainerInfo right = info();
    right.summary = "for a test";
    for (auto& parameter : right.parameters) parameter.help = "h";
    right.metrics = {{"m", hpo::Direction::minimize, "h"}};
    CHECK(hpo::info_problems(right).empty());
    hpo::TrainerInfo wrong = right;
    wrong.summary = "";
    wrong.parameters[0].name = "units";
    wrong.parameters[2].type = "complex";
    wrong.parameters[3].standard = std::int64_t{1};
    wrong.parameters.push_back({"width", "int", "[1; 2]", std::int64_t{1}, ""});
    wrong.parameters.push_back({"depth", "int", "[1, 8]", std::int64_t{9}, "h"});
    wrong.metrics = {{"m", hpo::Direction::minimize, "h"}, {"m", hpo::Direction::minimize, ""}};
    wrong.levers = {"micro_batch", "bigger_gpu", "micro_batch"};
    wrong.effective_batch_parameter = "batch";
    wrong.length_parameter = "units";
    wrong.peak_sources = {"dry_run", "oracle"};
    CHECK(hpo::unsaid_in(right).empty());
    CHECK(hpo::unsaid_in(wrong) ==
          std::vector<std::string>{"its summary is empty", "parameter 'width' has no help", "metric 'm' has no help"});
    CHECK(hpo::info_problems(wrong) ==
          std::vector<std::string>{
              "parameter 'units' is described twice",
              "parameter 'kind': unknown type 'complex'; expected int, float, bool, text, one of A, B, C",
              "parameter 'fast': its standard value is '1'; expected true or false",
              "parameter 'width': range '[1; 2]' cannot be read; expected '[LOW, HIGH]' with ( or ) where a bound is not included, inf "
              "for no bound",
              "parameter 'depth': its standard value is '9'; expected a whole number in [1, 8]", "metric 'm' is described twice",
              "unknown lever 'bigger_gpu'; known: micro_batch, activation_checkpointing, precision, expandable_segments, "
              "allocator_settings, cap_bytes",
              "lever 'micro_batch' is named twice", "the effective batch parameter 'batch' is not among the parameters",
              "unknown source of predictions 'oracle'; known: virtual_card, dry_run, probe"});
}
