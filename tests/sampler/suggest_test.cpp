// SPDX-License-Identifier: MIT
#include "hpo/sampler/suggest.hpp"

#include "hpo/sampler/random.hpp"
#include "support/catch.hpp"

namespace {

/// Gives 0.25 for every parameter in its joint draw, and 0.75 alone.
struct Quarter {
    int joint = 0;
    int single = 0;
    double suggest(const hpo::Ask& ask) {
        ++single;
        return std::min(0.75, ask.within.high);
    }
    hpo::ParamSet suggest_joint(const hpo::TrialContext&, hpo::Rng&) {
        ++joint;
        hpo::ParamSet params;
        for (const char* name : {"x", "y", "inactive"}) params.set(name, hpo::FloatDistribution{0, 1, false, {}}, 0.25);
        return params;
    }
};
static_assert(hpo::JointSampler<Quarter>);
static_assert(!hpo::JointSampler<hpo::sampler::Random>);

const hpo::History no_history{};
const hpo::TrialContext first{0, no_history};

}  // namespace

TEST_CASE("a joint draw is used where it fits, and the rest is asked one by one") {
    Quarter sampler;
    const auto params = hpo::suggest_params(
        sampler,
        [](hpo::SpaceTrial& trial) {
            trial.suggest_float("x", 0, 1);
            trial.suggest_float("y", 0, 1, {.max = 0.2});
            trial.suggest_float("new", 0, 1);
        },
        first, hpo::Seed{1});
    CHECK(sampler.joint == 1);
    CHECK(sampler.single == 2);
    CHECK(params.number("x") == 0.25);
    CHECK(params.number("y") == 0.2);
    CHECK(params.number("new") == 0.75);
    CHECK_FALSE(params.find("inactive"));
}

TEST_CASE("a joint value of another kind of distribution is not used") {
    Quarter sampler;
    const auto params = hpo::suggest_params(
        sampler, [](hpo::SpaceTrial& trial) { trial.suggest_float("x", 0.1, 1, {.log = true}); }, first, hpo::Seed{1});
    CHECK(params.number("x") == 0.75);
}

TEST_CASE("fixed values win, and one outside its distribution is named") {
    hpo::sampler::Random sampler;
    const hpo::Space space = [](hpo::SpaceTrial& trial) {
        trial.suggest_int("batch", 8, 64, {.step = 8});
        trial.suggest_categorical("model", {std::string{"base"}, std::string{"large"}},
                                  {.only = std::vector<hpo::Value>{std::string{"base"}}});
    };
    CHECK(hpo::suggest_params(sampler, space, first, {}, {{"batch", std::int64_t{24}}}).number("batch") == 24);
    CHECK_THROWS_WITH(hpo::suggest_params(sampler, space, first, {}, {{"batch", std::int64_t{25}}}),
                      "fixed parameter 'batch': got 25; expected int [8, 64] step 8");
    CHECK_THROWS_WITH(hpo::suggest_params(sampler, space, first, {}, {{"model", std::string{"large"}}}),
                      Catch::Contains("which this trial's narrowing leaves out; expected one of base"));
}

TEST_CASE("a fixed value that only some branches have restricts the space to these") {
    hpo::sampler::Random sampler;
    const hpo::Space space = [](hpo::SpaceTrial& trial) {
        const auto depth = trial.suggest_int("depth", 1, 4);
        trial.suggest_int("batch", 8, 64, {.step = 8, .max = 64 / depth});
        if (depth == 4) trial.suggest_int("width", 1, 2);
        trial.suggest_float("x", 0, 1);
    };
    for (std::int64_t number = 0; number < 50; ++number) {
        const hpo::TrialContext trial{number, no_history};
        CHECK(hpo::suggest_params(sampler, space, trial, hpo::Seed{1}, {{"batch", std::int64_t{64}}}).number("depth") == 1);
        CHECK(*hpo::suggest_params(sampler, space, trial, hpo::Seed{1}, {{"batch", std::int64_t{24}}}).number("depth") <= 2);
    }
    CHECK_THROWS_WITH(hpo::suggest_params(sampler, space, first, {}, {{"batch", std::int64_t{80}}}),
                      Catch::Contains("each for: fixed parameter 'batch': got 80; expected int [8, 64] step 8"));
    CHECK_NOTHROW(hpo::suggest_params(sampler, space, first, {}, {{"batch", std::int64_t{64}}, {"width", std::int64_t{3}}}));  // not asked
}

TEST_CASE("fixed values that exclude each other are an error at once where nothing is drawn before") {
    hpo::sampler::Random sampler;
    int proposals = 0;
    const hpo::Space space = [&](hpo::SpaceTrial& trial) {
        ++proposals;
        const auto depth = trial.suggest_int("depth", 1, 4);
        trial.suggest_int("batch", 8, 64, {.step = 8, .max = 64 / depth});
    };
    CHECK_THROWS_WITH(hpo::suggest_params(sampler, space, first, {}, {{"depth", std::int64_t{4}}, {"batch", std::int64_t{64}}}),
                      "fixed parameter 'batch': got 64, which this trial's narrowing leaves out; expected int [8, 16] step 8");
    CHECK(proposals == 1);
}

TEST_CASE("draws depend on seed, trial, name and round, and on nothing else") {
    hpo::sampler::Random sampler;
    const auto draw = [&](std::uint64_t seed, std::int64_t number, int round, bool reversed = false) {
        const hpo::Space space = [&](hpo::SpaceTrial& trial) {
            if (reversed) trial.suggest_float("y", 0, 1);
            trial.suggest_float("x", 0, 1);
            trial.suggest_float("y", 0, 1);
        };
        return hpo::suggest_params(sampler, space, {number, no_history}, hpo::Seed{seed}, {}, round);
    };
    const auto reference = draw(1, 0, 0);
    CHECK(draw(1, 0, 0) == reference);
    CHECK(draw(1, 0, 0, true).number("x") == reference.number("x"));
    CHECK(reference.number("x") != reference.number("y"));
    CHECK(draw(2, 0, 0).number("x") != reference.number("x"));
    CHECK(draw(1, 1, 0).number("x") != reference.number("x"));
    CHECK(draw(1, 0, 1).number("x") != reference.number("x"));
}

TEST_CASE("a refused proposal is drawn again until one is accepted") {
    hpo::sampler::Random sampler;
    int proposals = 0;
    const auto params = hpo::suggest_params(
        sampler,
        [&](hpo::SpaceTrial& trial) {
            ++proposals;
            trial.require(trial.suggest_float("x", 0, 1) < 0.1, "x too large");
        },
        first, hpo::Seed{3});
    CHECK(*params.number("x") < 0.1);
    CHECK(proposals > 1);
}

TEST_CASE("where all that a sampler proposes is refused, values are drawn by chance") {
    Quarter sampler;
    const hpo::ParamSet params = hpo::suggest_params(
        sampler,
        [](hpo::SpaceTrial& trial) {
            const double x = trial.suggest_float("x", 0, 1), y = trial.suggest_float("y", 0, 1);
            trial.require(x + y > 1.2, "x + y must be above 1.2");
        },
        first, hpo::Seed{1});
    CHECK(*params.number("x") + *params.number("y") > 1.2);
    CHECK(sampler.joint == hpo::refused_proposals_before_chance);
}

TEST_CASE("a space that refuses everything is an error that counts the reasons") {
    hpo::sampler::Random sampler;
    int proposals = 0;
    const hpo::Space space = [&](hpo::SpaceTrial& trial) {
        trial.suggest_float("x", 0, 1);
        trial.require(++proposals % 4 == 0, "too wide");
        trial.require(false, "too slow");
    };
    CHECK_THROWS_WITH(hpo::suggest_params(sampler, space, first, {}),
                      "search space: refused 1000 proposals in a row; last: too slow; in all: too wide (750), too slow (250)");
    CHECK(proposals == 1000);
}
