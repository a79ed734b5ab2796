// SPDX-License-Identifier: MIT
#include "hpo/registry/registry.hpp"

#include "hpo/registry/builtins.hpp"
#include "support/catch.hpp"

using hpo::registry::builtin_registries;
using hpo::registry::PolicySpec;

namespace {

/// A policy with an option of every type.
struct Widest {
    static constexpr std::string_view name = "widest";
    static constexpr std::string_view summary = "keeps its config";
    struct Config {
        bool flag = false;
        std::int64_t count = 3;
        double ratio = 0.5;
        std::string text = "t";
        hpo::Bytes size{1024};
        std::optional<double> maybe{};
    };
    static constexpr void fields(auto field) {
        field("flag", &Config::flag, "a flag");
        field("count", &Config::count, "a count");
        field("ratio", &Config::ratio, "a ratio");
        field("text", &Config::text, "a text");
        field("size", &Config::size, "a size");
        field("maybe", &Config::maybe, "or none");
    }
    explicit Widest(Config given) : config{std::move(given)} {}
    Config config;
};
static_assert(hpo::Configurable<Widest>);

}  // namespace

TEST_CASE("every type of option is read from text") {
    const auto config = hpo::registry::parse_config<Widest>(
        "here", {{"flag", "true"}, {"count", "-7"}, {"ratio", "1e-3"}, {"text", "a b"}, {"size", "1.5GiB"}, {"maybe", "2"}});
    CHECK(config.flag);
    CHECK(config.count == -7);
    CHECK(config.ratio == 1e-3);
    CHECK(config.text == "a b");
    CHECK(config.size.count == 1610612736);
    CHECK(config.maybe == 2.0);
    CHECK_FALSE(hpo::registry::parse_config<Widest>("here", {{"maybe", "none"}}).maybe);
}

TEST_CASE("options are described by the policy's fields") {
    const auto infos = hpo::registry::option_infos<Widest>();
    REQUIRE(infos.size() == 6);
    CHECK(infos[1].name == "count");
    CHECK(infos[1].default_text == "3");
    CHECK(infos[1].help == "a count");
    CHECK(infos[1].expected == "a whole number");
    CHECK(infos[4].default_text == "1.00 KiB");
    CHECK(infos[5].default_text == "none");
}

TEST_CASE("a value of the wrong form is refused with its place and what is expected") {
    const auto parse = [](const char* name, const char* value) { return hpo::registry::parse_config<Widest>("--pruner", {{name, value}}); };
    CHECK_THROWS_WITH(parse("count", "1.5"), "--pruner: option 'count' of widest: got '1.5'; expected a whole number");
    CHECK_THROWS_WITH(parse("flag", "yes"), Catch::Contains("expected true or false"));
    CHECK_THROWS_WITH(parse("ratio", "half"), Catch::Contains("expected a number"));
    CHECK_THROWS_WITH(parse("size", "-1"), Catch::Contains("expected a size such as 600MiB"));
    CHECK_THROWS_WITH(parse("count", "99999999999999999999"), Catch::Contains("expected a whole number"));
}

TEST_CASE("an option that may be none takes no other text than none and its values") {
    for (const char* const odd : {"abc", "1O", "", "None"}) {
        CHECK_THROWS_WITH(hpo::registry::parse_config<Widest>("here", {{"maybe", odd}}),
                          "here: option 'maybe' of widest: got '" + std::string{odd} + "'; expected a number");
    }
}

TEST_CASE("unknown names and options list what is known") {
    const auto registries = builtin_registries();
    CHECK_THROWS_WITH(registries.samplers.make("--sampler", {"randon", {}}),
                      Catch::StartsWith("--sampler: unknown sampler 'randon'; did you mean 'random'?; known: auto, random"));
    CHECK_THROWS_WITH(registries.recoveries.make("--recovery", {"shrink_micro_batch", {{"min_microbatch", "2"}}}),
                      "--recovery: unknown option of shrink_micro_batch 'min_microbatch'; did you mean 'min_micro_batch'?; known: "
                      "min_micro_batch, max_retries, crash_retries, outage_seconds");
    CHECK_THROWS_WITH(registries.pruners.make("study.lua:3", {"none", {{"x", "1"}}}),
                      "study.lua:3: unknown option of none 'x'; known: none");
}

TEST_CASE("a value out of range is refused with the place where it was written") {
    const auto registries = builtin_registries();
    CHECK_THROWS_WITH(registries.recoveries.make("--recovery", {"shrink_micro_batch", {{"min_micro_batch", "0"}}}),
                      "--recovery: shrink_micro_batch: min_micro_batch: got 0; expected 1 or more");
}

TEST_CASE("a made policy has the options it was given") {
    const auto registries = builtin_registries();
    const auto recovery = registries.recoveries.make("--recovery", {"shrink_micro_batch", {{"min_micro_batch", "16"}}});
    hpo::Attempt attempt;
    attempt.plan.effective_batch = 20;
    hpo::Failure failure;
    failure.kind = hpo::FailureKind::out_of_memory;
    CHECK(recovery.recover({hpo::Trial{}, attempt, failure, hpo::History{}}).plan.micro_batch == 16);
}

TEST_CASE("a name is registered once") {
    auto registries = builtin_registries();
    CHECK_THROWS_WITH(registries.samplers.add<hpo::sampler::Random>(), "sampler 'random' is registered twice");
}
