// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/error.hpp"
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

    static constexpr std::string_view one_of = "one of ";

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
                errors.push_back(bad_value(parameter.name, "nothing", describe(parameter) + "; the trainer has no standard value"));
                continue;
            }
            if (auto value = accepted(parameter, *given)) values_.insert_or_assign(parameter.name, *value);
            else errors.push_back(bad_value(parameter.name, "'" + display_text(*given) + "'", describe(parameter)));
        }
        for (const auto& [name, value] : job.params) {
            configuration_ += (configuration_.empty() ? "" : ", ") + name + " = " + display_text(value);
        }
        return errors;
    }

    static std::string describe(const TrainerParameter& parameter) {
        const std::string kind = parameter.type == "int"     ? "a whole number"
                                 : parameter.type == "float" ? "a number"
                                 : parameter.type == "bool"  ? "true or false"
                                 : parameter.type == "text"  ? "a text"
                                                             : parameter.type;
        return parameter.range.empty() ? kind : kind + " in " + parameter.range;
    }

    /// The value in the parameter's own type, or nothing when it is of another kind or outside the range.
    static std::optional<Value> accepted(const TrainerParameter& parameter, const Value& value) {
        if (parameter.type == "bool") return holds<bool>(value) ? std::optional{value} : std::nullopt;
        if (parameter.type == "text" || parameter.type.starts_with(one_of)) {
            const auto* text = get_if<std::string>(&value);
            return text && (parameter.type == "text" || names_choice(parameter.type, *text)) ? std::optional{value} : std::nullopt;
        }
        double number = 0;
        if (const auto* whole = get_if<std::int64_t>(&value)) number = static_cast<double>(*whole);
        else if (const auto* real = get_if<double>(&value)) number = *real;
        else return std::nullopt;
        if (!in_range(parameter, number)) return std::nullopt;
        if (parameter.type == "float") return Value{number};
        if (number != std::floor(number) || std::fabs(number) > 0x1.0p53) return std::nullopt;
        return Value{static_cast<std::int64_t>(number)};
    }
    static bool names_choice(std::string_view type, std::string_view text) {
        type.remove_prefix(one_of.size());
        while (!type.empty()) {
            const auto comma = type.find(", ");
            if (type.substr(0, comma) == text) return true;
            if (comma == std::string_view::npos) break;
            type.remove_prefix(comma + 2);
        }
        return false;
    }
    static bool in_range(const TrainerParameter& parameter, double number) {
        const std::string_view range = parameter.range;
        if (range.empty()) return !std::isnan(number);
        const auto comma = range.find(", ");
        if (comma == std::string_view::npos || range.size() < 6)
            throw Error{Errc::plugin, parameter.name + ": malformed range " + parameter.range};
        const double low = bound(parameter, range.substr(1, comma - 1));
        const double high = bound(parameter, range.substr(comma + 2, range.size() - comma - 3));
        return (range.front() == '[' ? number >= low : number > low) && (range.back() == ']' ? number <= high : number < high);
    }
    static double bound(const TrainerParameter& parameter, std::string_view text) {
        double value = 0;
        const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (status != std::errc{} || end != text.data() + text.size())
            throw Error{Errc::plugin, parameter.name + ": malformed range " + parameter.range};
        return value;
    }

    Values values_;
    std::string configuration_;
};

}  // namespace hpo
