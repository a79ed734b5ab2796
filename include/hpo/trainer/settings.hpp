// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/error.hpp"
#include "hpo/trainer/parameter_type.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo {

/// A job's parameters and options as its trainer reads them: held against the trainer's own list, which supplies the
/// types, the ranges ("[1, 64]", "(0, inf)") and the standard values. What the list does not know is an error.
class Settings {
public:
    /// Throws the first of `problems`.
    Settings(const TrainerInfo& info, const TrainerJob& job) {
        if (auto errors = read(info, job); !errors.empty()) throw errors.front();
    }
    /// Everything that is wrong with the job's parameters and options; `where` is the name.
    [[nodiscard]] static std::vector<TrainerProblem> problems(const TrainerInfo& info, const TrainerJob& job) {
        std::vector<TrainerProblem> found;
        for (const Error& error : Settings{}.read(info, job)) {
            const std::string_view text = error.what();
            const auto colon = text.find(": ");
            found.push_back({std::string{text.substr(0, colon)}, std::string{text.substr(colon + 2)}});
        }
        return found;
    }

    /// The readers throw Error for a name that is not in the trainer's list: a mistake of the plugin.
    [[nodiscard]] double number(std::string_view name) const {
        const Value& value = at(name);
        if (const auto* whole = get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
        return get<double>(value);
    }
    [[nodiscard]] std::int64_t whole(std::string_view name) const { return get<std::int64_t>(at(name)); }
    [[nodiscard]] bool truth(std::string_view name) const { return get<bool>(at(name)); }
    [[nodiscard]] const std::string& text(std::string_view name) const { return get<std::string>(at(name)); }

    /// False for a parameter without a standard value that a job for shapes alone leaves out.
    [[nodiscard]] bool given(std::string_view name) const { return values_.contains(name); }

    /// "model.kind = cnn, optim.lr = 0.01, ...": the trial's parameters, for messages.
    [[nodiscard]] const std::string& configuration() const noexcept { return configuration_; }

private:
    Settings() = default;

    const Value& at(std::string_view name) const {
        const auto found = values_.find(name);
        if (found == values_.end()) throw Error{Errc::plugin, "the trainer reads '" + std::string{name} + "', which its own list lacks"};
        return found->second;
    }

    std::vector<Error> read(const TrainerInfo& info, const TrainerJob& job) {
        std::vector<Error> errors;
        std::vector<std::string> known;
        for (const TrainerParameter& parameter : info.parameters) known.push_back(parameter.name);
        const auto check_names = [&](const Values& values, std::string_view kind) {
            for (const auto& [name, value] : values) {
                if (std::find(known.begin(), known.end(), name) == known.end())
                    errors.push_back(unknown_name(info.name, kind, name, known));
            }
        };
        check_names(job.params, "parameter");
        check_names(job.options, "option");
        for (const TrainerParameter& parameter : info.parameters) {
            const Value* given = job.find(parameter.name);
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

    /// What is wrong with the list itself is the plugin's mistake, not the value's.
    static ParameterType type_of(const TrainerInfo& info, const TrainerParameter& parameter) {
        try {
            return ParameterType::of(parameter);
        } catch (const Error& error) {
            throw Error{error.code(), "trainer " + info.name + ": " + error.what()};
        }
    }

    Values values_;
    std::string configuration_;
};

}  // namespace hpo
