// SPDX-License-Identifier: MIT
#include "command/program_lines.hpp"

#include <cmath>
#include <random>
#include <string_view>

#include "hpo/base/error.hpp"
#include "hpo/store/json_text.hpp"
#include "support/catch.hpp"

using Catch::Contains;
using hpo::command::parse_program_line;

TEST_CASE("a line may tell constraints, which are numbers") {
    const auto said = hpo::command::parse_program_line(R"({"constraint": {"latency": 0.25, "size": -Infinity, "text": "1.5"}})");
    using Told = std::vector<std::pair<std::string, double>>;
    CHECK(said.constraints == Told{{"latency", 0.25}, {"size", -HUGE_VAL}, {"text", 1.5}});
    CHECK_THROWS_WITH(hpo::command::parse_program_line(R"({"constraint": 1})"), Catch::Contains("constraint: got no object"));
    CHECK_THROWS_WITH(hpo::command::parse_program_line(R"({"constraint": {"c": null}})"),
                      Catch::Contains("c") && Catch::Contains("a number"));
    CHECK_THROWS_WITH(hpo::command::parse_program_line(R"({"constraint": {"c": NaN}})"),
                      Catch::Contains("NaN") && Catch::Contains("violation"));
}

TEST_CASE("a program's line says a report, values, attributes or memory") {
    const auto report = parse_program_line(R"({"step": 3, "value": 0.25, "answer": true})");
    REQUIRE(report.report);
    CHECK(report.report->step == 3);
    CHECK(report.report->value == 0.25);
    CHECK(report.values.empty());
    CHECK(report.wants_answer);
    CHECK(parse_program_line(R"({"value": 2})").values == std::vector{2.0});
    CHECK(parse_program_line(R"({"values": [1, -2.5]})").values == std::vector{1.0, -2.5});
    CHECK(std::isnan(parse_program_line(R"({"value": NaN})").values.at(0)));
    CHECK(parse_program_line(R"({"value": -Infinity})").values.at(0) == -HUGE_VAL);
    const auto more = parse_program_line(R"({"attr": {"note": "a\"b", "list": [1, 2]}, "memory": {"allocated": 10, "peak_reserved": 30}})");
    CHECK(more.attributes.at("note") == R"("a\"b")");
    CHECK(more.attributes.at("list") == "[1,2]");
    CHECK(more.memory->allocated == 10);
    CHECK(more.memory->peak_reserved == 30);
    CHECK_FALSE(more.memory->reserved);
    const auto question =
        parse_program_line(R"({"suggest": {"name": "lr", "distribution": {"name": "FloatDistribution", "attributes": {}}}})");
    REQUIRE(question.suggest);
    CHECK(question.suggest->name == "lr");
    CHECK(question.suggest->distribution == R"({"attributes":{},"name":"FloatDistribution"})");
    CHECK(parse_program_line(R"({"pruned": true})").pruned);
    CHECK_FALSE(parse_program_line(R"({"pruned": false})").pruned);
    CHECK(parse_program_line(R"({"pruned": true, "reason": "two\nlines"})").prune_reason == "two\nlines");
    CHECK(parse_program_line(R"({"attr": {"a": NaN, "b": [1, -Infinity], "c": "NaN"}})").attributes ==
          hpo::Attributes{{"a", "\"NaN\""}, {"b", R"([1,"-Infinity"])"}, {"c", "\"NaN\""}});
}

TEST_CASE("a line that cannot be understood says where and what would be right") {
    const std::vector<std::pair<const char*, const char*>> lines{
        {"0.3", "a JSON object"},
        {"{\"value\": 0.3", "a JSON object"},
        {"[]", "a JSON object"},
        {"", "a JSON object"},
        {R"({"loss": 1})", "the member 'loss'; expected step, value, values, attr, constraint, memory, suggest, pruned, reason, answer"},
        {R"({"value": "much"})", "value: got '\"much\"'; expected a number"},
        {R"({"value": null})", "value: got 'null'; expected a number"},
        {R"({"step": 1})", R"(step: got no value with it; expected {"step": 1, "value": 0.3})"},
        {R"({"step": 1, "values": [1]})", "step: got no value with it"},
        {R"({"step": 1.5, "value": 1})", "step: got '1.5'; expected a whole number"},
        {R"({"step": -1, "value": 1})", "step: got -1"},
        {R"({"step": 99999999999999999999, "value": 1})", "step: got "},
        {R"({"values": []})", "values: got '[]'; expected a list of numbers"},
        {R"({"values": 1})", "values: got '1'"},
        {R"({"value": 1, "values": [1]})", "both value and values"},
        {R"({"attr": 1})", "attr: got no object"},
        {R"({"memory": 1})", "memory: got no object"},
        {R"({"memory": {"allocated": 1.5}})", "memory.allocated: got '1.5'"},
        {R"({"memory": {"allocated": -1}})", "memory.allocated: got -1; expected bytes"},
        {R"({"memory": {"peak": 1}})", "the member 'peak'; expected allocated"},
        {R"({"answer": 1})", "answer: got '1'; expected true or false"},
        {R"({"reason": "alone"})", R"(reason: got '"alone"'; expected {"pruned": true, "reason": "text"})"},
        {R"({"pruned": true, "reason": 3})", R"(reason: got '3'; expected {"pruned": true, "reason": "text"})"},
        {R"({"pruned": null})", "pruned: got 'null'; expected true or false"},
        {R"({"suggest": "lr"})", R"(suggest: got '"lr"'; expected {"name": NAME, "distribution": )"},
        {R"({"suggest": {"name": "lr"}})", "suggest: got "},
        {R"({"suggest": {"name": 1, "distribution": {}}})", "suggest: got "},
        {R"({"suggest": {"name": "lr", "distribution": []}})", "suggest: got "},
        {R"({"suggest": {"name": NaN, "distribution": {}}})", R"(suggest: got '{"distribution":{},"name":"NaN"}')"},
        {R"({"pruned": NaN})", R"(pruned: got '"NaN"'; expected true or false)"},
        {"{\"value\": \"\xff\"}", "a JSON object"},
    };
    for (const auto& [line, message] : lines) {
        INFO(line);
        CHECK_THROWS_WITH(parse_program_line(line), Contains(message));
    }
}

TEST_CASE("100,000 damaged lines are an error each or say something, and nothing else happens") {
    std::mt19937 random{7};
    const std::vector<std::string> seeds{
        R"({"step": 3, "value": 0.25, "answer": true})",
        R"({"values": [1, -2.5, NaN]})",
        R"({"attr": {"note": "a\"b", "list": [1, 2]}, "memory": {"allocated": 10}})",
        R"({"suggest": {"name": "lr", "distribution": {"name": "FloatDistribution", "attributes": {"low": 1e-5, "high": NaN, "log": true}}}})",
        R"({"suggest": {"name": "a\"b", "distribution": {"name": "CategoricalDistribution", "attributes": {"choices": ["x", null, 2]}}}})",
        R"({"pruned": true, "value": 2})"};
    std::size_t errors = 0;
    std::size_t questions = 0;
    std::size_t pruned = 0;
    constexpr std::size_t lines = 100'000;
    for (std::size_t i = 0; i < lines; ++i) {
        std::string line = seeds[i % seeds.size()];
        for (unsigned change = 0; change <= random() % 4; ++change) {
            const std::size_t at = random() % line.size();
            switch (random() % 3) {
                case 0: line[at] = static_cast<char>(random() % 256); break;
                case 1: line.erase(at, 1 + random() % 4); break;
                default: line.insert(at, line.substr(random() % line.size(), random() % 8)); break;
            }
            if (line.empty()) line = "x";
        }
        try {
            const auto said = parse_program_line(line);
            pruned += said.pruned ? 1 : 0;
            if (!said.suggest) continue;
            ++questions;
            if (!hpo::store::parse_json(said.suggest->distribution).is_object()) FAIL("a distribution that is no object: " << line);
        } catch (const hpo::Error& error) {
            ++errors;
            if (std::string_view{error.what()}.find('\n') != std::string_view::npos) FAIL("an error of several lines: " << line);
        }
    }
    CHECK(errors > lines / 2);
    CHECK(errors < lines);
    CHECK(questions > lines / 100);
    CHECK(pruned > lines / 1000);
}

TEST_CASE("a line that nests 500,000 lists is an error") {
    const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    constexpr std::size_t deep = 500'000;
    for (const std::string& line : {R"({"attr": {"a": )" + nested(deep) + "}}", R"({"value": )" + nested(deep) + "}",
                                    R"({"suggest": {"name": "a", "distribution": {"low": )" + nested(deep) + "}}}"}) {
        INFO(line.substr(0, 40));
        CHECK_THROWS_WITH(parse_program_line(line), Contains("of at most 64 levels"));
    }
    CHECK_THROWS_WITH(parse_program_line(R"({"attr": {"a": )" + nested(63) + "}}"), Contains("of at most 64 levels"));
    CHECK(parse_program_line(R"({"attr": {"a": )" + nested(62) + "}}").attributes.at("a") == nested(62));
}
