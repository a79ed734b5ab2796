// SPDX-License-Identifier: MIT
// What an earlier version of hpo compiled and stored is still taken: tests/data/before.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/command.hpp"

using namespace hpo::test;
using Catch::Contains;
using nlohmann::json;

namespace {

const std::filesystem::path before = HPO_SOURCE_DIR "/tests/data/before";

CommandResult asked(const Workshop& workshop, const std::string& name, std::vector<std::string> words) {
    words.insert(words.begin(), tool(name));
    return run_command(workshop, words);
}

}  // namespace

TEST_CASE("a store of an earlier version opens, tells the same, and goes on") {
    const Workshop workshop;
    std::filesystem::copy_file(before / "hpo.db", workshop.path("hpo.db"));
    std::filesystem::copy_file(before / "bowl.lua", workshop.path("bowl.lua"));
    const json oom = json::parse(asked(workshop, "hpo-analyze", {"oom", "--study", "unguarded", "--json"}).out);
    CHECK(oom["trials"] == 8);
    CHECK(oom["oom_attempts"].get<int>() > 0);
    CHECK(oom["capacity_bytes"] == 24 * 1024 * 1024);
    const json memory = json::parse(asked(workshop, "hpo-analyze", {"memory", "--study", "tight", "--json"}).out);
    CHECK(memory["study"] == "tight");

    const auto best_of = [&] { return json::parse(asked(workshop, "hpo-analyze", {"best", "--study", "bowl", "--json"}).out); };
    const json best = best_of();
    const auto run = asked(workshop, "hpo-tune", {"run", "bowl.lua", "--trials", "15", "--progress", "plain", "--save-best=false"});
    INFO(run.error);
    REQUIRE(run.status == 0);
    CHECK_THAT(run.error + run.out, Contains("12 of 15 done; 3 to go"));
    const json summary = json::parse(asked(workshop, "hpo-analyze", {"summary", "--study", "bowl", "--json"}).out);
    CHECK(summary["trials"] == 15);
    const auto value_of = [](const json& of) { return of["best"][0]["values"][0].get<double>(); };
    CHECK(value_of(best) == Approx(0.0657157));
    CHECK(value_of(best_of()) <= value_of(best));
}

#ifdef __x86_64__
TEST_CASE("a plugin that an earlier version compiled is loaded and trains") {
    const Workshop workshop;
    std::filesystem::copy_file(before / "bowl.lua", workshop.path("bowl.lua"));
    const std::vector<std::string> folder{"--plugin-dir", before.string()};
    const auto with = [&](std::vector<std::string> words) {
        words.insert(words.end(), folder.begin(), folder.end());
        return asked(workshop, "hpo-tune", words);
    };
    const auto doctor = with({"doctor"});
    CHECK_THAT(doctor.out, Contains((before / "libhpo_trainer_quadratic.so").string()));
    const auto run = with({"run", "bowl.lua", "--trials", "4", "--progress", "plain", "--save-best=false"});
    INFO(run.error);
    CHECK(run.status == 0);
    CHECK_THAT(run.out, Contains("4 complete"));
}
#endif
