// SPDX-License-Identifier: MIT
#include "hpo/space/space_trial.hpp"

#include "hpo/base/error.hpp"
#include "support/catch.hpp"

using hpo::SpaceTrial;
using hpo::Value;

namespace {

/// Gives the least value that is allowed, and counts how often it was asked.
struct Least final : hpo::ParamSource {
    int draws = 0;
    double draw(const std::string&, const hpo::Distribution& distribution, const hpo::Narrowing& within, const hpo::ParamSet&) override {
        ++draws;
        const auto part = *hpo::narrowed(distribution, within);
        if (const auto* real = std::get_if<hpo::FloatDistribution>(&part)) return real->low;
        if (const auto* integer = std::get_if<hpo::IntDistribution>(&part)) return static_cast<double>(integer->low);
        std::size_t index = 0;
        while (!within.admits(static_cast<double>(index))) ++index;
        return static_cast<double>(index);
    }
};

}  // namespace

TEST_CASE("a space sees the values that a person would write") {
    Least least;
    SpaceTrial trial{least, 7};
    CHECK(trial.number() == 7);
    CHECK(trial.suggest_float("lr", 1e-5, 1, {.log = true}) == 1e-5);
    CHECK(trial.suggest_int("batch", 8, 64, {.step = 8, .min = 20}) == 24);
    CHECK(trial.suggest_categorical("model", {Value{"base"}, Value{"large"}}, {.only = std::vector<Value>{Value{"large"}}}) ==
          Value{"large"});
    CHECK(json_text(trial.params()) == R"({"lr": 1e-05, "batch": 24, "model": "large"})");
}

TEST_CASE("the stored distribution is the whole one") {
    Least least;
    SpaceTrial trial{least};
    trial.suggest_int("batch", 8, 64, {.step = 8, .min = 20, .max = 40});
    CHECK(*trial.params().find("batch")->distribution == hpo::Distribution{hpo::IntDistribution{8, 64, false, 8}});
}

TEST_CASE("asking again gives the same value without another draw") {
    Least least;
    SpaceTrial trial{least};
    CHECK(trial.suggest_float("x", 0, 1) == trial.suggest_float("x", 0, 1));
    CHECK(least.draws == 1);
}

TEST_CASE("misuse of a space is named with its parameter") {
    Least least;
    SpaceTrial trial{least};
    trial.suggest_float("x", 0, 1);
    CHECK_THROWS_WITH(trial.suggest_float("x", 0, 2), Catch::Contains("parameter 'x': got two distributions in one trial"));
    CHECK_THROWS_WITH(trial.suggest_float("", 0, 1), Catch::Contains("an empty name"));
    CHECK_THROWS_WITH(trial.suggest_float("y", 1, 0), Catch::Contains("parameter 'y': got low 1.0, high 0.0; expected low <= high"));
    CHECK_THROWS_WITH(trial.suggest_float("y", 0, 1, {.log = true}), Catch::Contains("expected low > 0"));
    CHECK_THROWS_WITH(trial.suggest_int("y", 1, 8, {.log = true, .step = 2}), Catch::Contains("both log and step"));
    CHECK_THROWS_WITH(trial.suggest_int("y", 1, 8, {.min = 9}), Catch::Contains("a narrowing that leaves no value of int [1, 8]"));
    CHECK_THROWS_WITH(trial.suggest_categorical("y", {}), Catch::Contains("no choices"));
    CHECK_THROWS_WITH(trial.suggest_categorical("y", {Value{"a"}}, {.only = std::vector<Value>{Value{"b"}}}),
                      Catch::Contains("got b in its narrowing; expected one of a"));
    CHECK(trial.params().size() == 1);
}

TEST_CASE("require refuses a proposal with its reason") {
    Least least;
    SpaceTrial trial{least};
    CHECK_NOTHROW(trial.require(true, "fine"));
    try {
        trial.require(false, "too slow");
        FAIL("require(false) returned");
    } catch (const hpo::SpaceRejection& rejection) {
        CHECK(rejection.reason == "too slow");
    }
}

TEST_CASE("a name that cannot be shown or stored is refused, and the message can be shown") {
    Least least;
    SpaceTrial trial{least};
    const auto refusal = [&](const std::string& name) -> std::string {
        try {
            (void)trial.suggest_float(name, 0, 1);
        } catch (const hpo::Error& error) {
            CHECK(error.code() == hpo::Errc::bad_value);
            return error.what();
        }
        return "none";
    };
    const std::string expected = "; expected a name of UTF-8 characters without control characters";
    CHECK(refusal(std::string("a\0b", 3)) == "parameter: got the name 'a\\x00b'" + expected);
    CHECK(refusal("line\nbreak") == "parameter: got the name 'line\\x0abreak'" + expected);
    CHECK(refusal("\x1b[31mred") == "parameter: got the name '\\x1b[31mred'" + expected);
    CHECK(refusal("\x7f") == "parameter: got the name '\\x7f'" + expected);
    CHECK(refusal("\xc2\x85") == "parameter: got the name '\\xc2\\x85'" + expected);           // a control character of two bytes
    CHECK(refusal("\xff") == "parameter: got the name '\\xff'" + expected);                    // no UTF-8
    CHECK(refusal("\xc0\xaf") == "parameter: got the name '\\xc0\\xaf'" + expected);           // overlong
    CHECK(refusal("\xed\xa0\x80") == "parameter: got the name '\\xed\\xa0\\x80'" + expected);  // a surrogate
    CHECK(refusal("cut\xe2\x82") == "parameter: got the name 'cut\\xe2\\x82'" + expected);
    for (const char* good : {"optim.lr", "a b", "l\xc3\xa4nge", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) CHECK(refusal(good) == "none");
    CHECK(trial.params().size() == 5);
}
