// SPDX-License-Identifier: MIT
#include "hpo/store/sqlite/distribution_json.hpp"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/base/error.hpp"
#include "hpo/store/json_text.hpp"

namespace hpo::store {

std::string distribution_text(const Distribution& distribution) {
    const auto truth = [](bool value) { return value ? "true" : "false"; };
    if (const auto* real = std::get_if<FloatDistribution>(&distribution)) {
        return R"({"name": "FloatDistribution", "attributes": {"step": )" + (real->step ? number_text(*real->step) : "null") +
               ", \"low\": " + number_text(real->low) + ", \"high\": " + number_text(real->high) + ", \"log\": " + truth(real->log) + "}}";
    }
    if (const auto* whole = std::get_if<IntDistribution>(&distribution)) {
        return std::string{R"({"name": "IntDistribution", "attributes": {"log": )"} + truth(whole->log) +
               ", \"step\": " + std::to_string(whole->step) + ", \"low\": " + std::to_string(whole->low) +
               ", \"high\": " + std::to_string(whole->high) + "}}";
    }
    std::string text = R"({"name": "CategoricalDistribution", "attributes": {"choices": [)";
    bool first = true;
    for (const Value& choice : std::get<CategoricalDistribution>(distribution).choices) {
        text += (first ? "" : ", ") + json_text(choice);
        first = false;
    }
    return text + "]}}";
}

Distribution parse_distribution(std::string_view place, std::string_view text) {
    const auto refuse = [&](const std::string& what) {
        return Error{Errc::store, std::string{place} + ": " + what + " in the distribution " + std::string{text}};
    };
    const Json json = parse_json(text);
    if (!json.is_object()) throw refuse("no JSON object");
    const bool is_short = json.contains("type");
    const Json& named = json.contains(is_short ? "type" : "name") ? json.at(is_short ? "type" : "name") : Json{};
    const std::string name = named.is_string() ? named.get<std::string>() : "";
    static const Json none = Json::object();
    const Json& attributes = is_short ? json : json.contains("attributes") ? json.at("attributes") : none;
    if (!attributes.is_object()) throw refuse("no attributes");
    const auto number = [&](const char* key) {
        const auto value = attributes.contains(key) ? json_number(attributes.at(key)) : std::nullopt;
        if (!value) throw refuse(std::string{"no number '"} + key + "'");
        return *value;
    };
    const auto whole = [&](const char* key) {
        const double value = number(key);
        if (value != std::floor(value) || std::fabs(value) > 0x1.0p63) throw refuse(std::string{"no whole number '"} + key + "'");
        return attributes.at(key).is_number_integer() ? attributes.at(key).get<std::int64_t>() : static_cast<std::int64_t>(value);
    };
    const auto given = [&](const char* key) { return attributes.contains(key) && !attributes.at(key).is_null(); };
    const bool log = given("log") && attributes.at("log").is_boolean() && attributes.at("log").get<bool>();

    if (name == "FloatDistribution" || name == "float") {
        return FloatDistribution{number("low"), number("high"), log, given("step") ? std::optional{number("step")} : std::nullopt};
    }
    if (name == "IntDistribution" || name == "int")
        return IntDistribution{whole("low"), whole("high"), log, given("step") ? whole("step") : 1};
    if (name == "CategoricalDistribution" || name == "categorical") {
        if (!given("choices") || !attributes.at("choices").is_array()) throw refuse("no list 'choices'");
        CategoricalDistribution categorical;
        for (const Json& choice : attributes.at("choices")) categorical.choices.push_back(json_value(choice));
        return categorical;
    }
    if (name == "UniformDistribution") return FloatDistribution{number("low"), number("high"), false, std::nullopt};
    if (name == "LogUniformDistribution") return FloatDistribution{number("low"), number("high"), true, std::nullopt};
    if (name == "DiscreteUniformDistribution") return FloatDistribution{number("low"), number("high"), false, number("q")};
    if (name == "IntUniformDistribution") return IntDistribution{whole("low"), whole("high"), false, given("step") ? whole("step") : 1};
    if (name == "IntLogUniformDistribution") return IntDistribution{whole("low"), whole("high"), true, 1};
    throw refuse("unknown kind '" + name + "'");
}

std::string params_text(const ParamSet& params) {
    std::string text = "[";
    for (const Param& param : params) {
        if (text.size() > 1) text += ", ";
        text += "{\"name\": " + json_quote(param.name) + ", \"value\": " + json_text(param.value()) +
                ", \"internal\": " + number_text(param.internal) + ", \"distribution\": " + distribution_text(*param.distribution) + "}";
    }
    return text + "]";
}

ParamSet parse_params(std::string_view place, std::string_view text, DistributionCache& distributions) {
    ParamSet params;
    for (const Json& param : json_objects(text)) {
        const auto internal = json_number(param.value("internal", Json{}));
        if (!internal) throw Error{Errc::store, std::string{place} + ": not a list of parameters: " + std::string{text}};
        // dump() escapes the marks of Python's numbers, so that they are read back unchanged.
        params.set(Param{param.value("name", ""), distributions.read(place, param.value("distribution", Json{}).dump()), *internal});
    }
    return params;
}

}  // namespace hpo::store
