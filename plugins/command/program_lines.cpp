// SPDX-License-Identifier: MIT
#include "program_lines.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "hpo/base/error.hpp"
#include "hpo/base/nesting_depth.hpp"
#include "hpo/base/plain_text.hpp"
#include "hpo/base/shown_text.hpp"
#include "hpo/store/json_text.hpp"

namespace hpo::command {
namespace {

using hpo::store::Json;

constexpr int deepest = 64;  ///< levels, because the JSON library writes each level with a stack frame
constexpr const char* known_members = "step, value, values, attr, constraint, memory, suggest, pruned, reason, answer";

/// The beginning of a text, for a message of one line.
std::string shown(std::string_view text) {
    constexpr std::size_t most = 80;
    const std::string all = hpo::valid_utf8(text.substr(0, most));
    return "'" + (hpo::is_plain_text(all) ? all : hpo::shown(all, all.size())) + (text.size() > most ? "...'" : "'");
}

/// The value as JSON text. JSON has no NaN and no Infinity, so these become texts.
std::string text_of(const Json& value) {
    std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    for (const auto& [token, mark] : hpo::store::python_numbers) {
        const std::string marked = "\"\\u0001" + std::string{token} + "\"";
        for (std::size_t at = 0; (at = text.find(marked, at)) != std::string::npos;)
            text.replace(at, marked.size(), "\"" + std::string{token} + "\"");
    }
    return text;
}

double number_of(const std::string& name, const Json& json) {
    if (const auto number = hpo::store::json_number(json)) return *number;
    throw hpo::bad_value(name, shown(text_of(json)), "a number");
}

std::int64_t whole_of(const std::string& name, const Json& json) {
    if (json.is_number_integer()) return json.get<std::int64_t>();
    throw hpo::bad_value(name, shown(text_of(json)), "a whole number");
}

hpo::MemoryReading memory_of(const Json& json) {
    if (!json.is_object()) throw hpo::bad_value("memory", "no object", R"({"allocated": BYTES, "reserved": BYTES})");
    hpo::MemoryReading reading;
    for (const auto& [name, bytes] : json.items()) {
        const auto set = [&](std::optional<std::int64_t>& member) {
            const std::int64_t number = whole_of("memory." + name, bytes);
            if (number < 0) throw hpo::bad_value("memory." + name, std::to_string(number), "bytes");
            member = number;
        };
        if (name == "allocated") set(reading.allocated);
        else if (name == "reserved") set(reading.reserved);
        else if (name == "free") set(reading.free);
        else if (name == "capacity") set(reading.capacity);
        else if (name == "limit") set(reading.limit);
        else if (name == "peak_allocated") set(reading.peak_allocated);
        else if (name == "peak_reserved") set(reading.peak_reserved);
        else
            throw hpo::bad_value("memory", "the member " + shown(name),
                                 "allocated, reserved, free, capacity, limit, peak_allocated, peak_reserved");
    }
    return reading;
}

bool truth_of(const std::string& name, const Json& json) {
    if (json.is_boolean()) return json.get<bool>();
    throw hpo::bad_value(name, shown(text_of(json)), "true or false");
}

bool is_text(const Json& json) {
    const auto is_mark = [&json](const auto& number) { return json == number.second; };
    return json.is_string() && std::ranges::none_of(hpo::store::python_numbers, is_mark);
}

ProgramLine::Question question_of(const Json& json) {
    const bool is_question = json.is_object() && json.size() == 2 && json.contains("name") && is_text(json["name"]) &&
                             json.contains("distribution") && json["distribution"].is_object();
    if (!is_question) {
        throw hpo::bad_value("suggest", shown(text_of(json)),
                             R"({"name": NAME, "distribution": {"name": "FloatDistribution", "attributes": {...}}})");
    }
    return {json["name"].get<std::string>(), json["distribution"].dump(-1, ' ', false, Json::error_handler_t::replace)};
}

}  // namespace

ProgramLine parse_program_line(std::string_view line) {
    if (hpo::nesting_depth(line) > deepest)
        throw hpo::bad_value("", shown(line), "a JSON object of at most " + std::to_string(deepest) + " levels");
    const Json json = hpo::store::parse_json(line);
    if (!json.is_object()) throw hpo::bad_value("", shown(line), R"(a JSON object, such as {"step": 1, "value": 0.3} or {"value": 0.2})");
    ProgramLine said;
    std::optional<std::int64_t> step;
    for (const auto& [name, member] : json.items()) {
        if (name == "step") step = whole_of(name, member);
        else if (name == "value") said.values = {number_of(name, member)};
        else if (name == "values") {
            if (!member.is_array() || member.empty()) throw hpo::bad_value(name, shown(text_of(member)), "a list of numbers");
            said.values.clear();
            for (const Json& each : member) said.values.push_back(number_of(name, each));
        } else if (name == "attr") {
            if (!member.is_object()) throw hpo::bad_value(name, "no object", R"({"name": value})");
            for (const auto& [key, value] : member.items()) said.attributes[key] = text_of(value);
        } else if (name == "constraint") {
            if (!member.is_object()) throw hpo::bad_value(name, "no object", R"({"name": number})");
            for (const auto& [key, value] : member.items()) {
                const double number = number_of(name + " " + shown(key), value);
                if (std::isnan(number)) throw hpo::bad_value(name + " " + shown(key), "NaN", "a number; above 0 is a violation");
                said.constraints.emplace_back(key, number);
            }
        } else if (name == "memory") said.memory = memory_of(member);
        else if (name == "suggest") said.suggest = question_of(member);
        else if (name == "pruned") said.pruned = truth_of(name, member);
        else if (name == "reason") {
            if (!is_text(member) || !json.contains("pruned"))
                throw hpo::bad_value(name, shown(text_of(member)), R"({"pruned": true, "reason": "text"})");
            said.prune_reason = hpo::valid_utf8(member.get_ref<const std::string&>());
        } else if (name == "answer") said.wants_answer = truth_of(name, member);
        else throw hpo::bad_value("", "the member " + shown(name), known_members);
    }
    if (json.contains("value") && json.contains("values")) throw hpo::bad_value("", "both value and values", "one of them");
    if (step) {
        if (!json.contains("value")) throw hpo::bad_value("step", "no value with it", R"({"step": 1, "value": 0.3})");
        if (*step < 0) throw hpo::bad_value("step", std::to_string(*step), "a whole number of at least 0");
        said.report = hpo::Report{.step = *step, .value = said.values.front()};
        said.values.clear();
    }
    return said;
}

}  // namespace hpo::command
