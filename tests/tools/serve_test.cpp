// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <sstream>
#include <vector>

#include "hpo/store/sqlite.hpp"
#include "hpo/store/sqlite/connection.hpp"
#include "hpo/store/sqlite/run_rows.hpp"
#include "support/catch.hpp"
#include "support/wording.hpp"
#include "tools/serve_session.hpp"

using namespace hpo::test;
using Catch::Contains;

namespace {

const std::string in_memory = R"({"op": "create_study", "study": "s", "sampler": {"name": "random", "seed": 3}})";
const std::string in_store = R"({"op": "create_study", "study": "s", "store": "hpo.db", "sampler": {"name": "random", "seed": 3}})";

Json ask_xy() { return {{"op", "ask"}, {"space", {{"x", real(0, 1)}, {"n", whole(1, 9)}, {"c", one_of({"a", 1, nullptr, true})}}}}; }
Json tell(const Json& trial, double value) { return {{"op", "tell"}, {"trial", trial}, {"state", "complete"}, {"values", {value}}}; }

std::vector<hpo::Trial> stored(const Workshop& workshop) {
    hpo::store::Sqlite store{workshop.file("hpo.db")};
    std::vector<hpo::Trial> trials;
    store.refresh(store.open_study("s", {}, hpo::Store::Open::resume).id, trials);
    return trials;
}

}  // namespace

TEST_CASE("serve: a program asks, tells, and hears what is best") {
    const Workshop workshop;
    ServeSession session{workshop};
    const Json created = session(in_memory);
    CHECK(created == Json::parse(R"({"ok": true, "study": "s", "directions": ["minimize"], "is_new": true, "trials": 0})"));
    CHECK(session(R"({"op": "best"})") == Json::parse(R"({"ok": true, "best": []})"));
    double least = 1e9;
    for (int number = 0; number < 20; ++number) {
        const Json asked = session(ask_xy());
        REQUIRE(asked["trial"] == number);
        const double x = asked["params"]["x"];
        CHECK((x >= 0 && x <= 1));
        CHECK(asked["params"]["n"].is_number_integer());
        const Json choices = {"a", 1, nullptr, true};
        CHECK(std::count(choices.begin(), choices.end(), asked["params"]["c"]) == 1);
        least = std::min(least, x);
        CHECK(session(tell(number, x)) == Json{{"ok", true}});
    }
    const Json best = session(R"({"op": "best"})")["best"];
    REQUIRE(best.size() == 1);
    CHECK(best[0]["values"][0] == least);
    CHECK(best[0]["params"]["x"] == least);
    const Json trials = session(R"({"op": "trials"})")["trials"];
    REQUIRE(trials.size() == 20);
    CHECK(std::all_of(trials.begin(), trials.end(), [](const Json& trial) { return trial["state"] == "complete"; }));
    CHECK(session.quit() == 0);
    CHECK_FALSE(std::filesystem::exists(workshop.path("hpo.db")));
}

TEST_CASE("serve: the same seed asks the same, however many trials are open") {
    const Workshop workshop;
    ServeSession one{workshop};
    ServeSession many{workshop};
    one(in_memory);
    many(in_memory);
    std::vector<Json> asked;
    for (int number = 0; number < 50; ++number) asked.push_back(many(ask_xy()));
    for (int number = 0; number < 50; ++number) {
        CHECK(one(ask_xy()) == asked[static_cast<std::size_t>(number)]);
        CHECK(one(tell(number, 1))["ok"] == true);
    }
    for (int number = 49; number >= 0; --number) CHECK(many(tell(number, number))["ok"] == true);  // in another order
    CHECK(many(R"({"op": "best"})")["best"][0]["trial"] == 0);
}

TEST_CASE("serve: parameters are suggested one by one, with the first distribution of a trial") {
    const Workshop workshop;
    ServeSession session{workshop};
    session(in_memory);
    const auto suggest = [&](int trial, const std::string& name, const Json& distribution) {
        return session(Json{{"op", "suggest"}, {"trial", trial}, {"name", name}, {"distribution", distribution}});
    };
    CHECK(session(R"({"op": "ask"})") == Json::parse(R"({"ok": true, "trial": 0, "params": {}})"));
    const Json x = suggest(0, "x", real(0, 1))["value"];
    CHECK(suggest(0, "x", real(0, 1))["value"] == x);
    CHECK(suggest(0, "x", real(5, 6))["value"] == x);  // as Optuna: the first call counts
    CHECK(suggest(0, "kind", one_of({"a"}))["value"] == "a");
    // In another trial the range may change; the kind, the scale and the choices may not.
    session(R"({"op": "ask"})");
    const double wide = suggest(1, "x", real(5, 6))["value"];
    CHECK((wide >= 5 && wide <= 6));
    for (const Json& other : {whole(0, 1), one_of({0, 1})}) {
        const Json refused = suggest(1, "x", other);
        CHECK(refused["ok"] == false);
        CHECK_THAT(refused["error"].get<std::string>(), Contains("parameter 'x'") && Contains("other trials have float"));
    }
    CHECK(suggest(1, "kind", one_of({"a", "b"}))["ok"] == false);
    // An ask with such a space begins no trial.
    CHECK_THAT(session.error(Json{{"op", "ask"}, {"space", {{"x", whole(0, 1)}}}}.dump()), Contains("only ranges may change"));
    CHECK(session(R"({"op": "trials"})")["trials"].size() == 2);
    // A trial with a space takes further parameters.
    CHECK(session(Json{{"op", "ask"}, {"space", {{"x", real(0, 1)}}}})["trial"] == 2);
    CHECK(suggest(2, "late", whole(4, 4))["value"] == 4);
    session(tell(2, 0));
    CHECK(session(R"({"op": "best"})")["best"][0]["params"]["late"] == 4);
    CHECK_THAT(suggest(2, "later", whole(4, 4))["error"].get<std::string>(), Contains("COMPLETE already"));
}

TEST_CASE("serve: reports are judged by the pruner, and a pruned trial keeps its last one") {
    const Workshop workshop;
    ServeSession session{workshop};
    session(R"({"op": "create_study", "study": "s", "pruner": {"name": "median", "options": {"startup_trials": 2, "warmup_steps": 1}}})");
    const auto report = [&](int trial, int step, double value) {
        return session(Json{{"op", "report"}, {"trial", trial}, {"step", step}, {"value", value}});
    };
    for (const int number : {0, 1}) {
        session(R"({"op": "ask"})");
        for (const int step : {0, 1, 2}) CHECK(report(number, step, 1.0)["prune"] == false);
        session(tell(number, 1));
    }
    session(R"({"op": "ask"})");
    CHECK(report(2, 0, 9)["prune"] == false);
    CHECK(report(2, 2, 8) == Json::parse(R"({"ok": true, "prune": true})"));
    const Json again = report(2, 2, 0);
    CHECK(again["prune"] == true);  // the first value of a step counts
    CHECK(again["notes"].size() == 1);
    CHECK(session(R"({"op": "report", "trial": 2, "step": 3, "value": 9, "last": true})")["prune"] == false);
    CHECK(session(R"({"op": "tell", "trial": 2, "state": "pruned"})")["ok"] == true);
    const Json pruned = session(R"({"op": "trials"})")["trials"][2];
    CHECK(pruned["state"] == "pruned");
    CHECK(pruned["values"] == Json({9.0}));
    CHECK(pruned["reports"] == Json::parse("[[0, 9.0], [2, 8.0], [3, 9.0]]"));
    CHECK_FALSE(pruned["attrs"]["prune_reason"].get<std::string>().empty());
}

TEST_CASE("serve: what a trial is told with is in its store, also why it failed") {
    const Workshop workshop;
    ServeSession session{workshop};
    session(in_store);
    session(ask_xy());
    CHECK(session(R"({"op": "tell", "trial": 0, "state": "complete", "values": [0.5], "constraints": {"latency": 0.25, "size": -1}, )"
                  R"("attrs": {"note": "wärm", "deep": {"a": [1, null]}}})")["ok"] == true);
    session(ask_xy());
    CHECK(session(R"({"op": "tell", "trial": 1, "state": "fail", "error": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate )"
                  R"(2.00 GiB. GPU 0 has a total capacity of 23.65 GiB of which 1.00 GiB is free."})")["ok"] == true);
    session(ask_xy());
    CHECK(session(R"({"op": "tell", "trial": 2, "state": "fail"})")["ok"] == true);
    CHECK(session(R"({"op": "best"})")["best"].empty());  // the only complete trial violates a constraint
    session.quit();
    const auto trials = stored(workshop);
    REQUIRE(trials.size() == 3);
    CHECK(trials[0].state == hpo::TrialState::complete);
    CHECK(trials[0].values == std::vector{0.5});
    CHECK(trials[0].constraints.at("latency") == 0.25);
    CHECK(trials[0].constraints.at("size") == -1);
    CHECK(Json::parse(trials[0].user_attributes.at("deep")) == Json::parse(R"({"a": [1, null]})"));
    CHECK(Json::parse(trials[0].user_attributes.at("note")) == "wärm");
    CHECK(trials[1].state == hpo::TrialState::fail);
    CHECK(trials[1].user_attributes.at("oom") == "true");
    REQUIRE(trials[1].attempts.size() == 1);
    CHECK(trials[1].attempts[0].failure->kind == hpo::FailureKind::out_of_memory);
    CHECK(trials[2].state == hpo::TrialState::fail);
    CHECK_FALSE(hpo::is_marked_lost(trials[2]));
    const auto oom = run_command(workshop, {tool("hpo-analyze"), "oom", "--store", "hpo.db"});
    CHECK(oom.status == 0);
    CHECK_THAT(oom.out, Contains("2.00 GiB") || Contains("2 GiB"));
}

TEST_CASE("serve: enqueued values are asked for first, and those that no trial can have end theirs") {
    const Workshop workshop;
    ServeSession session{workshop};
    session(in_memory);
    CHECK(session(R"({"op": "enqueue", "params": {"x": 0.25, "c": null}})")["trial"] == 0);
    CHECK(session(R"({"op": "enqueue", "params": {"x": 7}})")["trial"] == 1);
    CHECK(session(R"({"op": "enqueue", "params": {"y": 7}})")["trial"] == 2);
    CHECK(session(R"({"op": "trials"})")["trials"][0]["enqueued"] == Json::parse(R"({"x": 0.25, "c": null})"));
    const Json first = session(ask_xy());
    CHECK(first["trial"] == 0);
    CHECK(first["params"]["x"] == 0.25);
    CHECK(first["params"]["c"].is_null());
    CHECK_THAT(session.error(ask_xy().dump()),
               Contains(fixed_parameter("x", "7", "float [0, 1]")) && Contains("trial 1") && Contains("ask again"));
    const Json third = session(ask_xy());
    CHECK(third["trial"] == 2);
    CHECK_THAT(third["notes"][0].get<std::string>(), Contains("'y'"));
    CHECK(session(ask_xy())["trial"] == 3);
    const Json trials = session(R"({"op": "trials"})")["trials"];
    CHECK(trials[1]["state"] == "fail");
    CHECK_THAT(trials[1]["attrs"]["error_message"].get<std::string>(), Contains("got 7"));
}

TEST_CASE("serve: one session has several studies, with one objective or several") {
    const Workshop workshop;
    ServeSession session{workshop};
    session(R"({"op": "create_study", "study": "a", "directions": ["maximize"], "store": "hpo.db"})");
    CHECK(session(R"({"op": "ask"})")["trial"] == 0);  // no name is needed while there is one
    session(R"({"op": "create_study", "study": "b", "directions": ["minimize", "maximize"], "store": "sqlite:///hpo.db"})");
    session(R"({"op": "create_study", "study": "c"})");
    CHECK_THAT(session.error(R"({"op": "ask"})"), Contains("a, b, c"));
    CHECK_THAT(session.error(R"({"op": "ask", "study": "d"})"), Contains("unknown study 'd'") && Contains("known: a, b, c"));
    CHECK_THAT(session.error(R"({"op": "create_study", "study": "a"})"), Contains("is open in this session"));
    for (const char* const values : {"[1, 1]", "[2, 2]", "[2, 1]"}) {
        const Json asked = session(R"({"op": "ask", "study": "b"})");
        CHECK(session(R"({"op": "tell", "study": "b", "state": "complete", "trial": )" + asked["trial"].dump() + R"(, "values": )" +
                      values + "}")["ok"] == true);
    }
    const Json front = session(R"({"op": "best", "study": "b"})")["best"];
    REQUIRE(front.size() == 2);
    CHECK(front[0]["trial"] == 0);
    CHECK(front[1]["trial"] == 1);
    CHECK(session(R"({"op": "ask", "study": "c"})")["trial"] == 0);
    CHECK(session(R"({"op": "tell", "study": "a", "trial": 0, "state": "complete", "values": [3]})")["ok"] == true);
    CHECK(session(R"({"op": "best", "study": "a"})")["best"][0]["values"] == Json({3.0}));
    CHECK_THAT(session.error(R"({"op": "create_study", "study": "e", "directions": ["minimize", "minimize"], "sampler": "cmaes"})"),
               Contains("create_study: sampler: cmaes: got 2 objectives; expected one"));
}

TEST_CASE("serve: a study in a store goes on, and draws as if it had never been left") {
    const Workshop workshop;
    const Workshop other;
    ServeSession whole_session{other};
    whole_session(R"({"op": "create_study", "study": "s", "sampler": {"name": "tpe", "seed": 5}})");
    const std::string create = R"({"op": "create_study", "study": "s", "store": "hpo.db", "sampler": {"name": "tpe", "seed": 5}})";
    auto session = std::make_unique<ServeSession>(workshop);
    CHECK((*session)(create)["is_new"] == true);
    for (int number = 0; number < 30; ++number) {
        if (number % 10 == 5) {
            CHECK((number == 5 ? session->quit() : session->end()) == 0);
            session = std::make_unique<ServeSession>(workshop);
            const Json again = (*session)(create);
            CHECK(again["is_new"] == false);
            CHECK(again["trials"] == number);
        }
        const Json asked = (*session)(ask_xy());
        CHECK(asked == whole_session(ask_xy()));
        const double x = asked["params"]["x"];
        (*session)(tell(number, std::fabs(x - 0.3)));
        whole_session(tell(number, std::fabs(x - 0.3)));
    }
    CHECK_THAT(session->error(R"({"op": "create_study", "study": "s"})"), Contains("open in this session"));
    session->quit();
    ServeSession kept{workshop};  // it names no sampler, so the study's own goes on, with the seed 0
    kept(R"({"op": "create_study", "study": "s", "store": "hpo.db"})");
    kept.quit();
    hpo::store::Connection connection{workshop.file("hpo.db"), {}};
    CHECK_THAT(hpo::store::latest_configuration(connection, 1).value_or(""), Contains(R"("sampler":"tpe)"));
    ServeSession later{workshop};
    CHECK_THAT(later.error(R"({"op": "create_study", "study": "s", "store": "hpo.db", "directions": ["maximize"]})"),
               Contains("the stored ones: minimize"));
    CHECK(stored(workshop).size() == 30);
}

TEST_CASE("serve: after a kill nothing that was answered is lost, and open trials are asked again") {
    const Workshop workshop;
    ServeSession first{workshop};
    first(in_store);
    std::vector<Json> asked;
    for (int number = 0; number < 12; ++number) asked.push_back(first(ask_xy()));
    for (int number = 0; number < 8; ++number) first(tell(number, number + 0.5));
    first(R"({"op": "report", "trial": 9, "step": 1, "value": 4})");
    first(R"({"op": "enqueue", "params": {"x": 0.125}})");
    CHECK(first.kill() == 128 + SIGKILL);

    ServeSession second{workshop};
    CHECK(second(in_store)["trials"] == 13);
    const Json trials = second(R"({"op": "trials"})")["trials"];
    for (std::size_t number = 0; number < 8; ++number) {
        CHECK(trials[number]["state"] == "complete");
        CHECK(trials[number]["values"][0] == static_cast<double>(number) + 0.5);
        CHECK(trials[number]["params"] == asked[number]["params"]);
    }
    for (std::size_t number = 8; number < 12; ++number) {
        CHECK(trials[number]["state"] == "fail");
        CHECK(trials[number]["attrs"]["lost"] == true);
    }
    CHECK(trials[9]["reports"] == Json::parse("[[1, 4.0]]"));
    CHECK(trials[12]["state"] == "waiting");
    for (std::size_t lost = 8; lost < 12; ++lost) {
        const Json again = second(ask_xy());
        CHECK(again["in_place_of"] == lost);
        CHECK(again["params"] == asked[lost]["params"]);
        CHECK(second(tell(again["trial"], 1))["ok"] == true);
    }
    const Json enqueued = second(ask_xy());
    CHECK(enqueued["trial"] == 12);
    CHECK(enqueued["params"]["x"] == 0.125);
    CHECK(second(tell(12, 0))["ok"] == true);
    CHECK(second.quit() == 0);
    const auto end = stored(workshop);
    REQUIRE(end.size() == 17);
    CHECK(std::none_of(end.begin(), end.end(), [](const hpo::Trial& trial) { return trial.state == hpo::TrialState::running; }));
}

TEST_CASE("serve: a trial whose parameters were suggested alone is suggested them again after a kill") {
    const Workshop workshop;
    const std::string suggest_x = Json{{"op", "suggest"}, {"trial", 0}, {"name", "x"}, {"distribution", real(0, 1)}}.dump();
    ServeSession first{workshop};
    first(in_store);
    first(R"({"op": "ask"})");
    const Json x = first(suggest_x)["value"];
    first.kill();
    ServeSession second{workshop};
    second(in_store);
    const Json again = second(R"({"op": "ask"})");
    CHECK(again["in_place_of"] == 0);
    CHECK(again["trial"] == 1);
    CHECK(second(Json{{"op", "suggest"}, {"trial", 1}, {"name", "x"}, {"distribution", real(0, 1)}})["value"] == x);
    // A space that has changed lets it draw its own value.
    second.kill();
    ServeSession third{workshop};
    third(in_store);
    CHECK(third(R"({"op": "ask"})")["in_place_of"] == 1);
    const double moved = third(Json{{"op", "suggest"}, {"trial", 2}, {"name", "x"}, {"distribution", real(5, 6)}})["value"];
    CHECK((moved >= 5 && moved <= 6));
    CHECK(third(tell(2, 1))["ok"] == true);
    CHECK(third(R"({"op": "trials"})")["trials"][2]["params"]["x"] == moved);
}

TEST_CASE("serve: the end of the input, a quit and a signal leave no trial RUNNING") {
    const Workshop workshop;
    for (int way = 0; way < 4; ++way) {
        ServeSession session{workshop};
        session(in_store);
        const Json asked = session(ask_xy());
        session(ask_xy());
        if (way == 0) CHECK(session.end() == 0);
        else if (way == 1) CHECK(session.quit() == 0);
        else if (way == 2) CHECK(session.kill(SIGTERM) == 130);
        else CHECK(session.kill(SIGINT) == 130);
        for (const hpo::Trial& trial : stored(workshop)) {
            CHECK(trial.state == hpo::TrialState::fail);
            CHECK(hpo::is_marked_lost(trial));
        }
    }
    CHECK(stored(workshop).size() == 8);
}

TEST_CASE("serve: a reader of the answers that leaves ends the session") {
    const Workshop workshop;
    ServeSession session{workshop};
    session(in_store);
    session(ask_xy());
    session.close_answers();
    session.send(ask_xy().dump() + "\n");
    CHECK(session.end() == 2);
    for (const hpo::Trial& trial : stored(workshop)) CHECK(trial.state == hpo::TrialState::fail);
}

TEST_CASE("serve: the help has the protocol, and a word too many is refused") {
    const Workshop workshop;
    const auto help = run_command(workshop, {tool("hpo-tune"), "serve", "--help"});
    CHECK(help.status == 0);
    for (const char* const op : {"create_study", "ask", "suggest", "report", "tell", "enqueue", "best", "trials", "quit"}) {
        CHECK_THAT(help.out, Contains(op));
    }
    CHECK(run_command(workshop, {tool("hpo-tune"), "serve", "now"}).status == 2);
    CHECK(run_command(workshop, {tool("hpo-tune"), "serve"}).status == 0);  // nothing is asked
}

TEST_CASE("serve: the session of its page is what the program prints") {
    const Workshop workshop;
    ServeSession session{workshop};
    std::istringstream page{read_file(std::string{HPO_SOURCE_DIR} + "/docs/serve.md")};
    int requests = 0;
    Json answer;
    const auto without_times = [](const Json& json) {
        Json plain = json;
        for (const char* const list : {"best", "trials"}) {
            if (!plain.contains(list) || !plain[list].is_array()) continue;
            for (Json& trial : plain[list]) {
                trial.erase("started");
                trial.erase("completed");
            }
        }
        return plain;
    };
    for (std::string line; std::getline(page, line);) {
        if (line.starts_with("> ")) {
            answer = session(line.substr(2));
            ++requests;
        } else if (line.starts_with("< ")) {
            INFO("request " << requests << ": " << answer.dump());
            CHECK(without_times(answer) == without_times(Json::parse(line.substr(2))));
        }
    }
    CHECK(requests >= 30);
    CHECK(session.end() == 0);
}

TEST_CASE("serve: a thousand trials may be open in a store at once, and are told in any order") {
    const Workshop workshop;
    ServeSession session{workshop};
    session(in_store);
    for (int number = 0; number < 1000; ++number) REQUIRE(session(ask_xy())["trial"] == number);
    for (int at = 0; at < 1000; ++at) {
        const int number = (at * 7) % 1000;
        REQUIRE(session(tell(number, 1000 - number))["ok"] == true);
    }
    CHECK(session(R"({"op": "best"})")["best"][0]["trial"] == 999);
    CHECK(session.quit() == 0);
    const auto trials = stored(workshop);
    CHECK(trials.size() == 1000);
    CHECK(std::all_of(trials.begin(), trials.end(), [](const hpo::Trial& trial) { return trial.state == hpo::TrialState::complete; }));
}

TEST_CASE("serve: a configuration whose program ends three times in a row is not asked again") {
    const Workshop workshop;
    Json params;
    for (int lost = 0; lost < 3; ++lost) {
        ServeSession session{workshop};
        session(in_store);
        const Json asked = session(ask_xy());
        CHECK(asked["trial"] == lost);
        if (lost > 0) CHECK(asked["params"] == params);
        params = asked["params"];
        if (lost == 1) session.kill();
        else session.end();
    }
    ServeSession session{workshop};
    session(in_store);
    const Json next = session(ask_xy());
    CHECK_FALSE(next.contains("in_place_of"));
    CHECK(next["trial"] == 4);
    const Json given_up = session(R"({"op": "trials"})")["trials"][3];
    CHECK(given_up["state"] == "fail");
    CHECK_THAT(given_up["attrs"]["error_message"].get<std::string>(), Contains("3 times in a row"));
}

TEST_CASE("serve: nothing is told to a store that was removed, and what it held is saved to a new file") {
    const Workshop workshop;
    for (const bool quits : {true, false}) {
        ServeSession session{workshop};
        session(in_store);
        session(R"({"op": "create_study", "study": "t", "store": "hpo.db"})");
        const auto of_s = [](Json request) {
            request["study"] = "s";
            return request;
        };
        session(of_s(ask_xy()));
        session(of_s(ask_xy()));
        CHECK(session(of_s(tell(0, 0.5)))["ok"] == true);
        for (const char* const suffix : {"", "-wal", "-shm"}) std::filesystem::remove(workshop.path(std::string{"hpo.db"} + suffix));
        for (const Json& request : {of_s(tell(1, 0.5)), of_s(ask_xy()), Json{{"op", "enqueue"}, {"study", "s"}, {"params", {{"x", 1}}}}}) {
            CHECK_THAT(session.error(request.dump()),
                       Contains("hpo.db") && Contains("removed while it was open") && Contains("saves what"));
        }
        if (quits) {
            CHECK_THAT(session.error(R"({"op": "quit"})"), Contains("saved in") && Contains("hpo.db.rescued-1"));
            CHECK(session.end() == 0);
        } else {
            CHECK(session.end() == 3);
            CHECK_THAT(read_file(workshop.path(".error")), Contains("hpo.db.rescued-1"));
        }
        const std::string rescued = workshop.file("hpo.db.rescued-1");
        {
            hpo::store::Sqlite store{rescued};
            std::vector<hpo::Trial> trials;
            store.refresh(store.open_study("s", {}, hpo::Store::Open::resume).id, trials);
            REQUIRE(trials.size() == 2);
            CHECK(trials[0].values == std::vector{0.5});
            CHECK(hpo::is_marked_lost(trials[1]));
        }
        CHECK_FALSE(std::filesystem::exists(workshop.path("hpo.db.rescued-2")));
        std::filesystem::remove(rescued);
    }
}
