// SPDX-License-Identifier: MIT
#include "hpo/registry/policy_config.hpp"

#include "support/catch.hpp"

using hpo::registry::parse_policy_spec;
using hpo::registry::PolicySpec;

TEST_CASE("a spec is a name, or a name with options") {
    CHECK(parse_policy_spec("--sampler", "tpe") == PolicySpec{"tpe", {}});
    CHECK(parse_policy_spec("--sampler", "tpe:startup_trials=20,gamma=0.1") ==
          PolicySpec{"tpe", {{"startup_trials", "20"}, {"gamma", "0.1"}}});
    CHECK(parse_policy_spec("--guard", " limit : bytes = 600 MiB ") == PolicySpec{"limit", {{"bytes", "600 MiB"}}});
    CHECK(parse_policy_spec("--guard", "x:path=a:b=c") == PolicySpec{"x", {{"path", "a:b=c"}}});
    CHECK(parse_policy_spec("--recovery", "ladder:rungs=wait(30min, 10s)+prune,x=(1,2),y=3") ==
          PolicySpec{"ladder", {{"rungs", "wait(30min, 10s)+prune"}, {"x", "(1,2)"}, {"y", "3"}}});
    CHECK(parse_policy_spec("--guard", "x:a=(1,b=2") == PolicySpec{"x", {{"a", "(1"}, {"b", "2"}}});
    CHECK(parse_policy_spec("--guard", "x:text=") == PolicySpec{"x", {{"text", ""}}});
}

TEST_CASE("a ladder's rungs may stand in brackets") {
    const auto rungs = [](std::string_view text) { return parse_policy_spec("--recovery", text); };
    CHECK(rungs("ladder(prune)") == rungs("ladder:rungs=prune"));
    CHECK(rungs(" ladder ( wait(30min, 10s) ,retry(2), prune ) ") == rungs("ladder:rungs=wait(30min, 10s)+retry(2)+prune"));
    CHECK(rungs("ladder()") == rungs("ladder:rungs="));
    CHECK(rungs("ladder(a,,b)") == rungs("ladder:rungs=a++b"));
    CHECK(rungs("ladders(a)").name == "ladders(a)");
    CHECK_THROWS_WITH(rungs("ladder(retry(2), prune"),
                      "--recovery: got 'ladder(retry(2), prune'; expected a ) at its end, as in ladder(retry(2), prune)");
}

TEST_CASE("a spec written out reads back as itself") {
    for (const char* text : {"none", "limit:bytes=600MiB", "tpe:startup_trials=20,ei_candidates=24", "ladder:rungs=wait(30min,10s)"}) {
        CHECK(to_text(parse_policy_spec("here", text)) == text);
    }
}

TEST_CASE("what is not a spec is refused with its place") {
    CHECK_THROWS_WITH(parse_policy_spec("--sampler", ""), "--sampler: got no name in ''; expected NAME or NAME:option=value,option=value");
    CHECK_THROWS_WITH(parse_policy_spec("study.lua:7", "tpe:gamma"), Catch::Contains("study.lua:7: got option 'gamma' without '='"));
    CHECK_THROWS_WITH(parse_policy_spec("--sampler", ":a=1"), Catch::Contains("no name"));
    CHECK_THROWS_WITH(parse_policy_spec("--sampler", "tpe:"), Catch::Contains("an empty option"));
    CHECK_THROWS_WITH(parse_policy_spec("--sampler", "tpe:a=1,"), Catch::Contains("an empty option"));
    CHECK_THROWS_WITH(parse_policy_spec("--sampler", "tpe:=1"), Catch::Contains("'=1' without a name"));
    CHECK_THROWS_WITH(parse_policy_spec("--sampler", "tpe:a=1,a=2"), Catch::Contains("option 'a' twice"));
}
