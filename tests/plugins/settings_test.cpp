// SPDX-License-Identifier: MIT
#include "hpo/trainer/settings.hpp"

#include <string>

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

TEST_CASE("a malformed range is a mistake of the plugin") {
    auto broken = info();
    broken.parameters[1].range = "1 to 64";
    CHECK_THROWS_WITH((hpo::Settings{broken, job()}), Catch::Contains("malformed range"));
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
