// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hpo/core/param_set.hpp"
#include "hpo/sampler/concept.hpp"
#include "hpo/space/count.hpp"
#include "hpo/trainer/trainer.hpp"
#include "tune/settings/settings.hpp"

namespace hpo::tune {

/// Throws Error{unknown_name} for a fixed parameter whose name no parameter of the space has, Error{bad_value} for fixed values that no
/// configuration has, alone or together. A name or a value that only some branch has is in the space, and restricts it to such branches.
void require_fixed(const Settings& settings);

/// Throws as require_fixed for an enqueued trial of the script whose values the space does not have.
void require_enqueued(const Settings& settings);

/// The values of the script's enqueued trials.
[[nodiscard]] std::vector<FixedValues> enqueued_trials(const Settings& settings);

/// Says that the space has fewer combinations than the study shall have trials. Empty if it has as many, or if nobody knows.
[[nodiscard]] std::string fewer_combinations(const Settings& settings);

/// Counts the part of the study's space that has the fixed values, listed by the categorical parameter `by`. Throws as require_fixed does.
[[nodiscard]] SpaceCount count_space(const Settings& settings, const std::string& by);

/// True for a parameter that --fix names; the script may fix others.
[[nodiscard]] bool is_fixed_by_option(const Settings& settings, const std::string& name);

/// An error about a fixed parameter, with `--fix` in the place of its words where the parameter comes from there.
[[nodiscard]] Error named_by_option(const Settings& settings, const Error& error);

/// The same with the place that fixes the parameter before its words: --fix, or the line of the script.
[[nodiscard]] Error placed_fixed(const Settings& settings, const Error& error);

/// Notes, on standard error, the fixed parameters that a configuration does not have.
void note_unused_fixed(const Settings& settings, const ParamSet& params);

/// The configuration that stands for a space: fixed values, and for the rest the trainer's standard where the space has it, the first
/// choice or the middle of the range. Where the space refuses that, one parameter is changed; where this is not enough, all are drawn at
/// random.
class TypicalConfiguration {
public:
    /// Throws what suggest_params throws. `settings` and `info` must outlive this object.
    TypicalConfiguration(const Settings& settings, const TrainerInfo& info);

    [[nodiscard]] const ParamSet& params() const noexcept { return params_; }
    /// The same with another value of one parameter, and what hangs on it; nothing: the space does not have it beside the other values.
    [[nodiscard]] std::optional<ParamSet> with(const std::string& name, const Value& value) const;

private:
    const Settings& settings_;
    const TrainerInfo& info_;
    ParamSet params_;
};

}  // namespace hpo::tune
