// SPDX-License-Identifier: MIT
#include "hpo/trainer/settings.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hpo {

std::vector<TrainerProblem> Settings::problems(const TrainerInfo& info, const TrainerJob& job) {
    std::vector<TrainerProblem> found;
    for (const Error& error : Settings{}.read(info, job)) {
        const std::string_view text = error.what();
        const auto colon = text.find(": ");
        found.push_back({std::string{text.substr(0, colon)}, std::string{text.substr(colon + 2)}});
    }
    return found;
}

double Settings::number(std::string_view name) const {
    if (const auto* whole = std::get_if<std::int64_t>(&at(name))) return static_cast<double>(*whole);
    return as<double>(name, "a number");
}
std::int64_t Settings::whole(std::string_view name) const { return as<std::int64_t>(name, "a whole number"); }
bool Settings::truth(std::string_view name) const { return as<bool>(name, "true or false"); }
const std::string& Settings::text(std::string_view name) const { return as<std::string>(name, "a text"); }

template <class T>
const T& Settings::as(std::string_view name, std::string_view asked) const {
    const Value& value = at(name);
    if (const T* content = std::get_if<T>(&value)) return *content;
    std::string_view has = "a text; expected text()";
    if (std::holds_alternative<bool>(value)) has = "true or false; expected truth()";
    if (std::holds_alternative<std::int64_t>(value)) has = "a whole number; expected whole() or number()";
    if (std::holds_alternative<double>(value)) has = "a number; expected number()";
    throw Error{Errc::plugin, "the trainer reads '" + std::string{name} + "' as " + std::string{asked} + ", and its own list makes it " +
                                  std::string{has}};
}

const Value& Settings::at(std::string_view name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) throw Error{Errc::plugin, "the trainer reads '" + std::string{name} + "', which its own list lacks"};
    return found->second;
}

std::vector<Error> Settings::read(const TrainerInfo& info, const TrainerJob& job) {
    std::vector<Error> errors;
    std::vector<std::string> known;
    for (const TrainerParameter& parameter : info.parameters) known.push_back(parameter.name);
    const auto check_names = [&](const Values& values, std::string_view kind) {
        for (const auto& [name, value] : values) {
            if (std::find(known.begin(), known.end(), name) == known.end()) errors.push_back(unknown_name(info.name, kind, name, known));
        }
    };
    if (!info.open_ended) check_names(job.params, "parameter");
    check_names(job.options, "option");
    for (const TrainerParameter& parameter : info.parameters) {
        const Value* given = given_value(info, job, parameter.name);
        if (!given || given->is_null()) given = &parameter.standard;
        if (given->is_null() && job.shapes_only) continue;
        if (given->is_null()) {
            errors.push_back(bad_value(parameter.name, "nothing", expected_of(parameter) + "; the trainer has no standard value"));
            continue;
        }
        if (auto value = type_of(info, parameter).accepted(*given)) values_.insert_or_assign(parameter.name, *value);
        else errors.push_back(bad_value(parameter.name, "'" + display_text(*given) + "'", expected_of(parameter)));
    }
    for (const auto& [name, value] : job.params) {
        configuration_ += (configuration_.empty() ? "" : ", ") + name + " = " + display_text(value);
    }
    return errors;
}

ParameterType Settings::type_of(const TrainerInfo& info, const TrainerParameter& parameter) {
    try {
        return ParameterType::of(parameter);
    } catch (const Error& error) {
        throw Error{error.code(), "trainer " + info.name + ": " + error.what()};
    }
}

}  // namespace hpo
