// SPDX-License-Identifier: MIT
#include "tune/serve/request.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "hpo/base/error.hpp"
#include "hpo/base/nesting_depth.hpp"
#include "hpo/core/study.hpp"

namespace hpo::tune {
namespace {

/// The JSON library writes and destroys nested values by recursion.
constexpr int deepest = 64;

/// What a request says, short enough for an error.
std::string shown(const store::Json& json) {
    constexpr std::size_t most = 60;
    std::string text = json.is_discarded() ? std::string{} : json.dump(-1, ' ', true);
    if (text.size() > 10 * most) text.resize(10 * most);  // a request may have megabytes
    for (const auto& [token, mark] : store::python_numbers) {
        const std::string marked = "\"\\u0001" + std::string{token} + "\"";
        for (std::size_t at = 0; (at = text.find(marked, at)) != std::string::npos;) text.replace(at, marked.size(), token);
    }
    if (text.size() > most) text = text.substr(0, most) + "...";
    return text;
}

/// One of the numbers that Python's JSON has and JSON has not, as store::parse_json marks it.
bool is_python_number(const store::Json& json) {
    return json.is_string() && json.get_ref<const std::string&>().starts_with('\x01') && store::json_number(json);
}
bool is_text(const store::Json& json) { return json.is_string() && !is_python_number(json); }

/// A number, or one of Python's; not a text that looks like one.
std::optional<double> number_in(const store::Json& json) {
    if (json.is_number()) return json.get<double>();
    return is_python_number(json) ? store::json_number(json) : std::nullopt;
}

std::optional<std::int64_t> whole_in(const store::Json& json) {
    if (!json.is_number_integer()) return std::nullopt;
    if (json.is_number_unsigned() && json.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return std::nullopt;
    return json.get<std::int64_t>();
}

Value scalar(const std::string& where, const store::Json& json) {
    if (json.is_structured() || is_python_number(json))  // no answer could give one of Python's numbers back
        throw bad_value(where, shown(json), "a text, a number, true, false or null");
    return store::json_value(json);
}

/// True if one of Python's numbers is somewhere in the value. JSON has none, so the store could not give it back to every program.
bool has_python_number(const store::Json& json) {
    if (is_python_number(json)) return true;
    return json.is_structured() && std::any_of(json.begin(), json.end(), has_python_number);
}

void require_keys(const std::string& where, const char* kind, const store::Json& object, const std::vector<std::string>& known) {
    for (const auto& [key, value] : object.items()) {
        if (std::find(known.begin(), known.end(), key) == known.end()) throw unknown_name(where, kind, key, known);
    }
}

/// Reads a distribution, strictly: what the store forgives in the files of other programs may be a slip here.
Distribution distribution_of(const std::string& where, const store::Json& json, store::DistributionCache& known) {
    static constexpr const char* form =
        R"({"name": "FloatDistribution", "attributes": {"low": 0, "high": 1, "log": false, "step": null}}, or IntDistribution, or )"
        R"(CategoricalDistribution with "choices")";
    if (!json.is_object() || !json.contains("name") || !json.contains("attributes") || !json["attributes"].is_object())
        throw bad_value(where, shown(json), form);
    require_keys(where, "key of a distribution", json, {"name", "attributes"});
    static const std::vector<std::string> names{"FloatDistribution", "IntDistribution", "CategoricalDistribution"};
    const std::string name = is_text(json["name"]) ? json["name"].get<std::string>() : shown(json["name"]);
    if (std::find(names.begin(), names.end(), name) == names.end()) throw unknown_name(where, "distribution", name, names);
    const store::Json& attributes = json["attributes"];
    if (name == names[2]) {
        require_keys(where, "attribute", attributes, {"choices"});
        if (!attributes.contains("choices") || !attributes["choices"].is_array() || attributes["choices"].empty())
            throw bad_value(where, shown(json), R"(a list "choices" with at least one choice)");
        for (const store::Json& choice : attributes["choices"]) (void)scalar(where + ": choices", choice);
    } else {
        require_keys(where, "attribute", attributes, {"low", "high", "log", "step"});
        const bool is_whole = name == names[1];
        for (const char* const key : {"low", "high", "step"}) {
            const bool may_lack = std::string_view{key} == "step";
            if (may_lack && (!attributes.contains(key) || attributes[key].is_null())) continue;
            const store::Json& value = attributes.contains(key) ? attributes[key] : store::Json{};
            const auto number = number_in(value);
            if (number && std::isfinite(*number) &&
                (!is_whole || whole_in(value) || (*number == std::floor(*number) && std::fabs(*number) < 0x1p53)))
                continue;
            throw bad_value(where + ": " + key, attributes.contains(key) ? shown(value) : "nothing",
                            is_whole ? "a whole number" : "a number");
        }
        if (attributes.contains("log") && !attributes["log"].is_boolean())
            throw bad_value(where + ": log", shown(attributes["log"]), "true or false");
    }
    return *known.read(where, json.dump());
}

}  // namespace

Request::Request(std::string_view line) {
    static constexpr const char* expected = R"(one JSON object on one line, such as {"op": "best"})";
    if (nesting_depth(line) > deepest)
        throw bad_value("request", "lists and objects more than " + std::to_string(deepest) + " deep", expected);
    json_ = store::parse_json(line);
    if (!json_.is_object()) throw bad_value("request", json_.is_discarded() ? "no JSON" : shown(json_), expected);
    if (const auto id = json_.find("id"); id != json_.end()) {
        if (id->is_structured() || is_python_number(*id)) throw bad_value("id", shown(*id), "a number, a text or null");
        id_ = id->dump();
    }
    if (const auto op = json_.find("op"); op != json_.end() && is_text(*op)) op_ = op->get<std::string>();
}

const std::string& Request::op() const {
    if (!op_.empty()) return op_;
    throw bad_value("op", has("op") ? shown(json_["op"]) : "nothing",
                    "create_study, ask, suggest, report, tell, enqueue, best, trials or quit");
}

void Request::require_only(std::initializer_list<const char*> keys) const {
    std::vector<std::string> known(keys.begin(), keys.end());
    known.insert(known.end(), {"op", "study", "id"});
    require_keys(op_, "key", json_, known);
}

bool Request::has(const char* key) const {
    const auto found = json_.find(key);
    return found != json_.end() && !found->is_null();
}

std::string Request::text(const char* key, std::string_view expected) const {
    if (!has(key) || !is_text(json_[key])) throw bad_value(place(key), has(key) ? shown(json_[key]) : "nothing", expected);
    return json_[key].get<std::string>();
}

std::int64_t Request::whole(const char* key, std::string_view expected) const {
    const auto value = has(key) ? whole_in(json_[key]) : std::nullopt;
    if (!value) throw bad_value(place(key), has(key) ? shown(json_[key]) : "nothing", expected);
    return *value;
}

double Request::number(const char* key, std::string_view expected) const {
    const auto value = has(key) ? number_in(json_[key]) : std::nullopt;
    if (!value) throw bad_value(place(key), has(key) ? shown(json_[key]) : "nothing", expected);
    return *value;
}

bool Request::truth(const char* key) const {
    if (!has(key)) return false;
    if (!json_[key].is_boolean()) throw bad_value(place(key), shown(json_[key]), "true or false");
    return json_[key].get<bool>();
}

const store::Json& Request::object(const char* key, std::string_view expected) const {
    if (!has(key) || !json_[key].is_object()) throw bad_value(place(key), has(key) ? shown(json_[key]) : "nothing", expected);
    return json_[key];
}

std::vector<Direction> Request::directions() const {
    std::vector<Direction> all;
    if (!has("directions")) return all;
    static constexpr const char* expected = R"(a list of "minimize" and "maximize", one for each objective)";
    const store::Json& list = json_["directions"];
    if (!list.is_array() || list.empty()) throw bad_value(place("directions"), shown(list), expected);
    for (const store::Json& word : list) {
        const auto direction = word.is_string() ? enum_of<Direction>(word.get_ref<const std::string&>()) : std::nullopt;
        if (!direction) throw bad_value(place("directions"), shown(word), expected);
        all.push_back(*direction);
    }
    return all;
}

tuner::NamedDistributions Request::space(store::DistributionCache& known) const {
    tuner::NamedDistributions all;
    if (!has("space")) return all;
    const store::Json& space =
        object("space", R"(an object of distributions by name: {"x": {"name": "FloatDistribution", "attributes": {...}}})");
    for (const auto& [name, json] : space.items())
        all.emplace_back(name, distribution_of(op_ + ": parameter " + json_quote(name.substr(0, 80)), json, known));
    return all;
}

Distribution Request::distribution(store::DistributionCache& known) const {
    return distribution_of(place("distribution"), has("distribution") ? json_["distribution"] : store::Json{}, known);
}

FixedValues Request::values_by_name() const {
    FixedValues values;
    for (const auto& [name, value] : object("params", R"(an object of values by name: {"x": 0.5})").items())
        values.emplace_back(name, scalar(op_ + ": parameter " + json_quote(name.substr(0, 80)), value));
    return values;
}

tuner::Told Request::told() const {
    tuner::Told told;
    static const std::array<std::pair<std::string_view, TrialState>, 3> states{
        {{"complete", TrialState::complete}, {"pruned", TrialState::pruned}, {"fail", TrialState::fail}}};
    const std::string state = text("state", "complete, pruned or fail");
    const auto* const named = std::ranges::find(states, state, [](const auto& each) { return each.first; });
    if (named == states.end()) throw unknown_name(op_, "state", state, std::vector<std::string>{"complete", "pruned", "fail"});
    told.state = named->second;
    if (has("values")) {
        if (!json_["values"].is_array())
            throw bad_value(place("values"), shown(json_["values"]), "a list with one number for each objective");
        for (const store::Json& item : json_["values"]) {
            const auto value = number_in(item);
            if (!value) throw bad_value(place("values"), shown(item), "a list with one number for each objective");
            told.values.push_back(*value);
        }
    }
    if (has("constraints")) {
        for (const auto& [name, item] : object("constraints", R"(an object of numbers by name: {"latency": -0.2})").items()) {
            const auto value = number_in(item);
            if (!value)
                throw bad_value(op_ + ": constraint " + json_quote(name.substr(0, 80)), shown(item), "a number; above 0 is a violation");
            told.constraints[name] = *value;
        }
    }
    if (has("attrs")) {
        for (const auto& [name, value] : object("attrs", R"(an object of JSON values by name: {"note": "warm start"})").items()) {
            if (has_python_number(value)) {
                throw bad_value(op_ + ": attribute " + json_quote(name.substr(0, 80)), "NaN or an infinity, which JSON does not have",
                                "a text, or a finite number");
            }
            told.attributes.set_json(name, value.dump());
        }
    }
    if (has("error")) {
        told.error = text("error", "the message of the failure, as a text");
        if (told.error.find_first_not_of(" \t\r\n") == std::string::npos) told.error.clear();
    }
    return told;
}

Request::Policy Request::policy(const char* key, std::string_view standard) const {
    if (!has(key)) return {std::string{standard}};
    const store::Json& json = json_[key];
    if (is_text(json)) return {json.get<std::string>()};
    const bool may_seed = std::string_view{key} == "sampler";
    if (!json.is_object() || !json.contains("name") || !is_text(json["name"]))
        throw bad_value(
            place(key), shown(json),
            std::string{R"(NAME:option=value,... or {"name": "NAME", )"} + (may_seed ? R"("seed": 1, )" : "") + R"("options": {}})");
    std::vector<std::string> known{"name", "options"};
    if (may_seed) known.emplace_back("seed");
    require_keys(place(key), "key", json, known);
    Policy policy{json["name"].get<std::string>()};
    if (json.contains("seed") && !json["seed"].is_null()) {
        policy.seed = whole_in(json["seed"]);
        if (!policy.seed || *policy.seed < 0)
            throw bad_value(place("seed"), shown(json["seed"]), "a whole number from 0 to 9223372036854775807");
    }
    if (!json.contains("options") || json["options"].is_null()) return policy;
    if (!json["options"].is_object()) throw bad_value(place("options"), shown(json["options"]), R"(an object: {"startup_trials": 20})");
    char before = ':';
    for (const auto& [name, value] : json["options"].items()) {
        const std::string word = value.is_null() ? "none" : display_text(scalar(op_ + ": option " + json_quote(name.substr(0, 80)), value));
        for (const std::string_view part : {std::string_view{name}, std::string_view{word}}) {
            if (part.find_first_of(",=:") != std::string_view::npos)
                throw bad_value(op_ + ": option " + json_quote(name.substr(0, 80)), shown(value), "a name and a value without , = and :");
        }
        policy.spec += before + name + "=" + word;
        before = ',';
    }
    return policy;
}

}  // namespace hpo::tune
