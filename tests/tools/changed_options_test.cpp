// SPDX-License-Identifier: MIT
#include <set>
#include <string>
#include <vector>

#include "hpo/store/sqlite.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"

using namespace hpo::test;
using Catch::Contains;

namespace {

struct Bowl {
    Workshop workshop;
    std::string store = workshop.path("hpo.db").string();

    CommandResult call(const std::string& command, const std::string& trainer, std::vector<std::string> more = {}) const {
        workshop.write("bowl.lua", "local hpo = require \"hpo\"\nreturn hpo.study {\n  name = \"bowl\", trainer = " + trainer +
                                       R"(,
  objective = { metric = "value", direction = "minimize" },
  sampler = "random", pruner = "none", recovery = "fail",
  space = function(trial) trial:float("x", -5, 5) end,
}
)");
        std::vector<std::string> words{tool("hpo-tune"), command, "bowl.lua", "--store", store};
        if (command == "run") words.insert(words.end(), {"--progress", "none"});
        words.insert(words.end(), more.begin(), more.end());
        return run_command(workshop, words);
    }
    [[nodiscard]] std::size_t trials() const {
        hpo::store::Sqlite opened{store};
        std::vector<hpo::Trial> all;
        opened.refresh(1, all);
        return all.size();
    }
};

}  // namespace

TEST_CASE("options of the trainer that are not those of the study's trials are refused, with the ways out") {
    const Bowl bowl;
    REQUIRE(bowl.call("run", "{ \"quadratic\", steps = 2, a = 0.5 }", {"--trials", "2"}).status == 0);

    const std::string changed = "{ \"quadratic\", steps = 3, b = 2 }";
    const std::string refusal =
        "got trainer options a = 1, steps = 3, b = 2 for study bowl; expected a = 0.5, steps = 2, b = -1, which its latest trials have; or "
        "another "
        "--study; or --accept-changed-options, to compare unlike trials\n";
    for (const char* command : {"run", "check"}) {
        const auto refused = bowl.call(command, changed);
        CHECK(refused.status == 2);
        CHECK_THAT(refused.error, Contains(refusal));
    }
    CHECK(bowl.trials() == 2);
    CHECK(bowl.call("run", changed, {"--trials", "1", "--study", "other"}).status == 0);
    CHECK(bowl.trials() == 2);

    CHECK(bowl.call("check", changed, {"--accept-changed-options"}).status == 0);
    REQUIRE(bowl.call("run", changed, {"--trials", "3", "--accept-changed-options"}).status == 0);
    CHECK(bowl.trials() == 3);
    CHECK(bowl.call("run", changed, {"--trials", "4"}).status == 0);  // they are the study's now
    CHECK(bowl.call("run", "{ \"quadratic\", steps = 2, a = 0.5 }", {"--trials", "5"}).status == 2);
}

TEST_CASE("accepted options are the study's once a trial runs with them, and not before") {
    const Bowl bowl;
    const std::string first = "{ \"quadratic\", steps = 2 }";
    const std::string changed = "{ \"quadratic\", steps = 3 }";
    REQUIRE(bowl.call("run", first, {"--trials", "2"}).status == 0);
    REQUIRE(bowl.call("run", changed, {"--trials", "2", "--accept-changed-options"}).status == 0);  // nothing to do
    REQUIRE(bowl.call("run", changed, {"--trials", "3", "--accept-changed-options", "--save-best=bowl.lua/no"}).status != 0);
    CHECK(bowl.trials() == 2);
    CHECK(bowl.call("run", changed, {"--trials", "3"}).status == 2);
    CHECK(bowl.call("run", first, {"--trials", "3"}).status == 0);
    CHECK(bowl.trials() == 3);
}

TEST_CASE("an option that is left out is the trainer's standard, and a study of an earlier version tells none") {
    const Bowl bowl;
    REQUIRE(bowl.call("run", "\"quadratic\"", {"--trials", "1"}).status == 0);
    CHECK(bowl.call("run", "{ \"quadratic\", steps = 1, a = 1, b = -1.0 }", {"--trials", "2"}).status == 0);
    CHECK(bowl.call("run", "\"quadratic\"", {"--trials", "3"}).status == 0);

    const Bowl older;
    {
        hpo::store::Sqlite made{older.store};
        const hpo::Study study = made.open_study("bowl", std::vector{hpo::Direction::minimize}, hpo::Store::Open::create);
        hpo::Trial trial = made.begin_trial(study.id, std::nullopt);
        trial.params.set("x", hpo::FloatDistribution{-5, 5}, 0.5);
        made.set_params(trial);
        trial.state = hpo::TrialState::complete;
        trial.values = {1};
        made.finish(trial);
    }
    CHECK(older.call("run", "{ \"quadratic\", steps = 3 }", {"--trials", "2"}).status == 0);
    CHECK(older.call("run", "{ \"quadratic\", steps = 4 }", {"--trials", "3"}).status == 2);
}

TEST_CASE("an infinite option of the trainer is the same one in a later run") {
    const Bowl bowl;
    const std::string infinite = "{ \"quadratic\", steps = 1, sleep_ms = 0, b = math.huge }";
    static_cast<void>(bowl.call("run", infinite, {"--trials", "1"}));  // its value is infinite, too
    CHECK(bowl.trials() == 1);
    static_cast<void>(bowl.call("run", infinite, {"--trials", "2"}));
    CHECK(bowl.trials() == 2);
    CHECK(bowl.call("run", "{ \"quadratic\", steps = 1, sleep_ms = 0, b = -math.huge }", {"--trials", "3"}).status == 2);
    CHECK(bowl.trials() == 2);
}

TEST_CASE("two runs that begin a study together with different options do not mix them") {
    const Bowl one;
    const Bowl other;
    const auto start = [&](const Bowl& bowl, const std::string& trainer) {
        bowl.workshop.write("bowl.lua", "local hpo = require \"hpo\"\nreturn hpo.study {\n  name = \"bowl\", trainer = " + trainer + R"(,
  objective = { metric = "value", direction = "minimize" },
  sampler = "random", pruner = "none", recovery = "fail",
  space = function(trial) trial:float("x", -5, 5) end,
}
)");
        return start_command(bowl.workshop, {tool("hpo-tune"), "run", "bowl.lua", "--store", one.store, "--trials", "6"});
    };
    const pid_t two_steps = start(one, "{ \"quadratic\", steps = 2 }");
    const pid_t three_steps = start(other, "{ \"quadratic\", steps = 3 }");
    const auto first = finish_command(one.workshop, two_steps);
    const auto second = finish_command(other.workshop, three_steps);
    INFO(first.error << second.error);
    CHECK((first.status == 0) != (second.status == 0));
    CHECK_THAT(first.error + second.error, Contains("for study bowl; expected steps = "));
    hpo::store::Sqlite opened{one.store};
    std::vector<hpo::Trial> trials;
    opened.refresh(1, trials);
    std::set<std::size_t> lengths;
    for (const hpo::Trial& trial : trials) {
        if (trial.state == hpo::TrialState::complete) lengths.insert(trial.intermediate.size());
    }
    CHECK(lengths.size() == 1);
}
