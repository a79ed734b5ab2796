// SPDX-License-Identifier: MIT
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "hpo/store/sqlite.hpp"
#include "support/catch.hpp"
#include "support/wording.hpp"
#include "tools/serve_session.hpp"

using namespace hpo::test;
using Catch::Contains;

namespace {

/// Lines of which none is a right request, the same in each run: cut off, with a wrong type, an unknown key, another trial, or bytes.
class WrongLines {
public:
    std::string next() {
        switch (pick(6)) {
            case 0: return cut(request().dump());
            case 1: return of_bytes();
            case 2: return with_wrong_value();
            case 3: {
                Json wrong = request();
                wrong["k" + std::to_string(pick(1000))] = pick(1000);
                return wrong.dump();
            }
            case 4: {
                Json wrong = request();
                wrong["op"] = std::vector<std::string>{"", "Ask", "asks", "tell\n", "\x7f", "create", "__proto__"}[pick(7)];
                return wrong.dump();
            }
            default: {
                const std::size_t depth = 65 + pick(2000);
                return std::string(depth, pick(2) == 0 ? '[' : '{') + "1";
            }
        }
    }

private:
    /// Below `end`.
    std::size_t pick(std::size_t end) { return static_cast<std::size_t>(random_() % end); }

    Json request() {
        static const std::vector<Json> right{{{"op", "ask"}, {"space", {{"x", real(0, 1)}, {"n", whole(1, 9)}}}},
                                             {{"op", "suggest"}, {"trial", 0}, {"name", "z"}, {"distribution", real(0, 1)}},
                                             {{"op", "report"}, {"trial", 0}, {"step", 1}, {"value", 0.5}},
                                             {{"op", "tell"}, {"trial", 0}, {"state", "complete"}, {"values", {0.5}}},
                                             {{"op", "enqueue"}, {"params", {{"x", 0.5}}}}};
        return right[pick(right.size())];
    }
    std::string cut(const std::string& text) { return text.substr(0, 1 + pick(text.size() - 1)); }
    std::string of_bytes() {
        std::string bytes{'\x80'};  // no JSON begins so
        for (std::size_t size = pick(60); size > 0; --size) {
            const char byte = static_cast<char>(pick(256));
            bytes += byte == '\n' ? '?' : byte;
        }
        return bytes;
    }
    std::string with_wrong_value() {
        static const std::vector<Json> wrong{Json::parse("[[]]"), Json::parse("{\"\": {}}"), true, -1, 1e300, "\x01NaN", Json::array()};
        Json line = request();
        std::vector<std::string> keys;
        for (const auto& [key, value] : line.items()) {
            if (key != "value" && key != "step" && key != "name") keys.push_back(key);  // these take many values
        }
        const std::string key = keys[pick(keys.size())];
        line[key] = wrong[pick(wrong.size())];
        return line.dump();
    }

    std::mt19937_64 random_{20260101};
};

}  // namespace

TEST_CASE("serve: each of 100,000 wrong lines has one error, and no trial is lost") {
    const Workshop workshop;
    ServeSession session{workshop};
    session(R"({"op": "create_study", "study": "s", "store": "hpo.db"})");
    session(Json{{"op", "ask"}, {"space", {{"x", real(0, 1)}}}});
    session(R"({"op": "ask"})");
    WrongLines lines;
    int accepted = 0;
    for (int sent = 0; sent < 100'000;) {
        constexpr std::size_t most_bytes = 30'000;  // what fits a pipe, so that both sides never wait for each other
        std::string batch;
        std::vector<std::string> sent_lines;
        while (batch.size() < most_bytes && sent < 100'000) {
            sent_lines.push_back(lines.next());
            batch += sent_lines.back() + "\n";
            ++sent;
        }
        session.send(batch);
        for (const std::string& line : sent_lines) {
            const Json answer = session.receive();
            if (answer.at("ok") != false || answer.at("error").get<std::string>().empty()) {
                INFO(line << " -> " << answer.dump());
                CHECK(++accepted == 0);
            }
        }
        if (accepted > 10) break;
    }
    CHECK(session(R"({"op": "trials"})")["trials"].size() == 2);
    for (const char* const trial : {"0", "1"}) {
        CHECK(session(std::string{R"({"op": "tell", "trial": )"} + trial + R"(, "state": "complete", "values": [1]})")["ok"] == true);
    }
    CHECK(session.quit() == 0);
}

TEST_CASE("serve: an error says what is wrong and what would be right") {
    const Workshop workshop;
    ServeSession session{workshop};
    const auto refuses = [&](const std::string& line, const std::string& wrong, const std::string& right) {
        const std::string error = session.error(line);
        INFO(line << " -> " << error);
        CHECK_THAT(error, Contains(wrong));
        CHECK_THAT(error, Contains(right));
    };
    refuses("", "no JSON", "one JSON object");
    refuses("[1]", "[1]", "one JSON object");
    refuses("{}", "op: got nothing", "create_study");
    refuses(R"({"op": 3})", "op: got 3", "create_study");
    refuses(R"({"op": "tel"})", "'tel'", did_you_mean("tell"));
    refuses(R"({"op": "ask"})", "no study", "create_study first");
    refuses(R"({"op": "create_study"})", "study: got nothing", "name");
    refuses(R"({"op": "create_study", "study": ""})", "0 bytes", "1 to 512");
    refuses(R"({"op": "create_study", "study": "a\nb"})", "a study named", "without control characters");
    refuses(R"({"op": "create_study", "study": "s", "directions": ["up"]})", "\"up\"", "maximize");
    refuses(R"({"op": "create_study", "study": "s", "directions": []})", "[]", "one for each objective");
    refuses(R"({"op": "create_study", "study": "s", "sampler": "tpee"})", "'tpee'", did_you_mean("tpe"));
    refuses(R"({"op": "create_study", "study": "s", "sampler": {"name": "tpe", "options": {"gama": 1}}})", "'gama'", did_you_mean("gamma"));
    refuses(R"({"op": "create_study", "study": "s", "sampler": {"name": "tpe", "options": {"gamma": "x"}}})", "'x'", "a number");
    refuses(R"({"op": "create_study", "study": "s", "sampler": {"name": "tpe", "seed": -1}})", "-1", "a whole number from 0");
    refuses(R"({"op": "create_study", "study": "s", "pruner": 3})", "3", "NAME");
    refuses(R"({"op": "create_study", "study": "s", "store": "postgresql://host/db"})", "postgresql", "sqlite:///");
    refuses(R"({"op": "create_study", "study": "s", "store": "no/such/folder/hpo.db"})", "no/such/folder", "directory");
    refuses(R"({"op": "create_study", "study": "s", "storage": "x"})", "'storage'", did_you_mean("store"));
    CHECK(session(R"({"op": "create_study", "study": "s"})")["ok"] == true);
    const auto refuses_space = [&](const std::string& distribution, const std::string& wrong, const std::string& right) {
        refuses(R"({"op": "ask", "space": {"x": )" + distribution + "}}", wrong, right);
    };
    refuses_space("[0, 1]", "[0,1]", "FloatDistribution");
    refuses_space(R"({"name": "FloatDistribution"})", "FloatDistribution", "attributes");
    refuses_space(R"({"name": "Float", "attributes": {}})", "'Float'", "FloatDistribution");
    refuses_space(R"({"name": "FloatDistribution", "attributes": {"low": 0}})", "high: got nothing", "a number");
    refuses_space(R"({"name": "FloatDistribution", "attributes": {"low": 1, "high": 0}})", "1", "low");
    refuses_space(R"({"name": "FloatDistribution", "attributes": {"low": 0, "high": "1"}})", "\"1\"", "a number");
    refuses_space(R"({"name": "FloatDistribution", "attributes": {"low": 0, "high": Infinity}})", "Infinity", "a number");
    refuses_space(R"({"name": "FloatDistribution", "attributes": {"low": 0, "high": 1, "log": 1}})", "log: got 1", "true or false");
    refuses_space(R"({"name": "FloatDistribution", "attributes": {"low": 0, "high": 1, "log": true}})", "log", "low");
    refuses_space(R"({"name": "FloatDistribution", "attributes": {"low": 0, "high": 1, "q": 1}})", "'q'", "step");
    refuses_space(R"({"name": "IntDistribution", "attributes": {"low": 0.5, "high": 1}})", "0.5", "a whole number");
    refuses_space(R"({"name": "IntDistribution", "attributes": {"low": 0, "high": 18446744073709551615}})", "18446744073709551615",
                  "a whole number");
    refuses_space(R"({"name": "CategoricalDistribution", "attributes": {"choices": []}})", "choices", "at least one");
    refuses_space(R"({"name": "CategoricalDistribution", "attributes": {"choices": [[1]]}})", "[1]", "a text, a number");
    refuses(R"({"op": "ask", "space": {"": {"name": "IntDistribution", "attributes": {"low": 0, "high": 1}}}})", "an empty name", "a name");
    refuses(R"({"op": "ask", "space": {"a\u0000": {"name": "IntDistribution", "attributes": {"low": 0, "high": 1}}}})", "the name 'a",
            "control characters");
    refuses_space(R"({"name": "FloatDistribution", "attributes": {"low": -1e308, "high": 1e308}})", "1e+308", "high - low");
    refuses(R"({"op": "tell", "trial": 0, "state": "complete", "values": [1]})", "0", "'ask' began");
    CHECK(session(R"({"op": "trials"})")["trials"].empty());
    CHECK(session(R"({"op": "ask"})")["trial"] == 0);
    refuses(R"({"op": "tell", "trial": "0", "state": "complete", "values": [1]})", "\"0\"", "the number of a trial");
    refuses(R"({"op": "tell", "trial": 1, "state": "complete", "values": [1]})", "1", "the study has 1");
    refuses(R"({"op": "tell", "trial": 0, "state": "completed", "values": [1]})", "'completed'", did_you_mean("complete"));
    refuses(R"({"op": "tell", "trial": 0, "state": "complete"})", "0 values", "1, one for each objective");
    refuses(R"({"op": "tell", "trial": 0, "state": "complete", "values": [1, 2]})", "2 values", "1, one for each objective");
    refuses(R"({"op": "tell", "trial": 0, "state": "complete", "values": [NaN]})", "NaN", "failed");
    refuses(R"({"op": "tell", "trial": 0, "state": "complete", "values": ["1"]})", "\"1\"", "one number for each objective");
    refuses(R"({"op": "tell", "trial": 0, "state": "pruned", "values": [1]})", "values", "last report");
    refuses(R"({"op": "tell", "trial": 0, "state": "pruned", "error": "x"})", "an error", "failed");
    refuses(R"({"op": "tell", "trial": 0, "state": "fail", "constraints": {"a": NaN}})", "'a'", "a number");
    refuses(
        R"({"op": "suggest", "trial": 0, "name": "c", "distribution": {"name": "CategoricalDistribution", "attributes": {"choices": ["a", NaN]}}})",
        "choices: got NaN", "a text, a number");
    refuses(R"({"op": "enqueue", "params": {"x": -Infinity}})", "got -Infinity", "a text, a number");
    refuses(R"({"op": NaN})", "op: got NaN", "create_study");
    refuses(R"({"op": "best", "study": Infinity})", "study: got Infinity", "");
    refuses(R"({"op": "best", "id": NaN})", "id: got NaN", "a number, a text or null");
    refuses(R"({"op": "tell", "trial": 0, "state": "fail", "attrs": {"lost": true}})", "'lost'", "another name");
    refuses(R"({"op": "tell", "trial": 0, "state": "fail", "attrs": {"a": [{"b": NaN}]}})", "\"a\"", "finite");
    refuses(R"({"op": "report", "trial": 0, "step": -1, "value": 1})", "-1", "0 or more");
    refuses(R"({"op": "report", "trial": 0, "step": 1.5, "value": 1})", "1.5", "a whole number");
    refuses(R"({"op": "report", "trial": 0, "step": 1})", "value: got nothing", "a number");
    refuses(R"({"op": "enqueue", "params": {"x": [1]}})", "[1]", "a text, a number");
    refuses(R"({"op": "enqueue"})", "nothing", "values by name");
    CHECK(session(R"({"op": "tell", "trial": 0, "state": "complete", "values": [Infinity]})")["ok"] == true);  // as Optuna takes it
}

TEST_CASE("serve: the id of a request comes back, whatever the answer") {
    const Workshop workshop;
    ServeSession session{workshop};
    CHECK(session(R"({"op": "create_study", "study": "s", "id": 7})")["id"] == 7);
    CHECK(session(R"({"op": "nothing", "id": "a\"b"})")["id"] == "a\"b");
    CHECK(session(R"({"id": 1.5})")["id"] == 1.5);
    CHECK(session(R"({"op": "ask", "id": null})").at("id").is_null());
    CHECK_FALSE(session(R"({"op": "ask"})").contains("id"));
    CHECK_THAT(session.error(R"({"op": "ask", "id": [1]})"), Contains("id: got [1]; expected a number, a text or null"));
}

TEST_CASE("serve: names and values that could break a program or a store come back as they were") {
    const Workshop workshop;
    const std::vector<std::string> names{"x'; DROP TABLE trials; --", "\"quoted\"", "ключ", "a b", "$(reboot)", "\\", "{}", "漢字🙂",
                                         std::string(300, 'n')};
    Json space = Json::object();
    for (const std::string& name : names) space[name] = one_of({name, "", 1e308, -5e-324, std::numeric_limits<std::int64_t>::min(), false});
    space["tiny"] = real(0, 1e-300);
    space["huge"] = real(-8e307, 8e307);
    space["wide"] = {{"name", "FloatDistribution"}, {"attributes", {{"low", 1e-300}, {"high", 1e300}, {"log", true}}}};
    const std::string study = "s'; DROP TABLE studies; -- 漢";
    Json asked;
    {
        ServeSession session{workshop};
        REQUIRE(session(Json{{"op", "create_study"}, {"study", study}, {"store", "hpo.db"}})["ok"] == true);
        for (int trial = 0; trial < 20; ++trial) {
            asked = session(Json{{"op", "ask"}, {"space", space}});
            INFO(asked.dump());
            REQUIRE(asked["ok"] == true);
            REQUIRE(asked["params"].size() == space.size());
            REQUIRE(session(Json{{"op", "tell"},
                                 {"trial", trial},
                                 {"state", "complete"},
                                 {"values", {trial}},
                                 {"attrs", {{names[0], names[7]}}}})["ok"] == true);
        }
        CHECK(session.quit() == 0);
    }
    ServeSession session{workshop};
    CHECK(session(Json{{"op", "create_study"}, {"study", study}, {"store", "hpo.db"}})["trials"] == 20);
    const Json trials = session(R"({"op": "trials"})")["trials"];
    CHECK(trials[19]["params"] == asked["params"]);
    CHECK(trials[19]["attrs"][names[0]] == names[7]);
}

TEST_CASE("serve: a line that is too long is one error, and the next line is read") {
    const Workshop workshop;
    ServeSession session{workshop};
    const std::string part(1U << 20U, ' ');
    for (int mebibyte = 0; mebibyte < 17; ++mebibyte) session.send(part);
    CHECK_THAT(session.error("1"), Contains("a line above 16") && Contains("expected a shorter one"));
    CHECK(session(R"({"op": "create_study", "study": "s"})")["ok"] == true);
    CHECK(session(std::string(1U << 20U, ' ') + R"({"op": "ask"})")["trial"] == 0);
    session.send(R"({"op": "best"})");  // the last line lacks its end
    CHECK(session.end() == 0);
    CHECK(session.receive()["best"].empty());
}
