// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/trainer/parameter_type.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo {

/// A job's parameters and options as its trainer reads them. They are checked against the trainer's own list, which has the types, the
/// ranges ("[1, 64]", "(0, inf)") and the standard values. A name that the list does not have is an error.
class Settings {
public:
    /// Throws the first of `problems`.
    Settings(const TrainerInfo& info, const TrainerJob& job) {
        if (auto errors = read(info, job); !errors.empty()) throw errors.front();
    }
    /// Everything that is wrong with the job's parameters and options. `where` is the name.
    [[nodiscard]] static std::vector<TrainerProblem> problems(const TrainerInfo& info, const TrainerJob& job);

    /// The functions below throw Error if a name is not in the trainer's list, or if it is there with a value of another kind. That is a
    /// mistake of the plugin.
    [[nodiscard]] double number(std::string_view name) const;
    [[nodiscard]] std::int64_t whole(std::string_view name) const;
    [[nodiscard]] bool truth(std::string_view name) const;
    [[nodiscard]] const std::string& text(std::string_view name) const;

    /// False if the job leaves out a parameter that has no standard value. Only a job with `shapes_only` may do that.
    [[nodiscard]] bool given(std::string_view name) const { return values_.contains(name); }

    /// "model.kind = cnn, optim.lr = 0.01, ...": the trial's parameters, for messages.
    [[nodiscard]] const std::string& configuration() const noexcept { return configuration_; }

private:
    Settings() = default;

    const Value& at(std::string_view name) const;
    /// The content of the value as a T. `asked` says what the reader gives: "a whole number".
    template <class T>
    const T& as(std::string_view name, std::string_view asked) const;

    std::vector<Error> read(const TrainerInfo& info, const TrainerJob& job);

    /// Throws Error{plugin} if the list itself is wrong. That is the plugin's mistake, not the value's.
    static ParameterType type_of(const TrainerInfo& info, const TrainerParameter& parameter);

    Values values_;
    std::string configuration_;
};

}  // namespace hpo
