// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hpo/core/param_set.hpp"
#include "hpo/trainer/trainer.hpp"
#include "tune/settings/settings.hpp"

namespace hpo::tune {

/// Draws from the study's space at random, before anything starts, so that a script or a fixed value that is wrong shows.
/// Throws what the space throws, and bad_value for a space that asks for nothing, or otherwise when it is run again.
[[nodiscard]] std::vector<ParamSet> draw_proposals(const Settings& settings, std::int64_t count = 64);

/// Fixed parameters that none of the proposals was asked for: misspelled, or of a branch that was not met.
[[nodiscard]] std::vector<std::string> never_asked(const Settings& settings, const std::vector<ParamSet>& proposals);

/// What the study's sampler says against parameters that are not fixed, each once.
[[nodiscard]] std::vector<std::string> parameters_beyond_sampler(const Settings& settings, const std::vector<ParamSet>& proposals);

/// The parameters that the proposals have, each with its distribution in words.
[[nodiscard]] std::map<std::string, std::string> distributions_in_words(const std::vector<ParamSet>& proposals);

/// What the trainer's own list says against the proposals and the script's options for it: names that it lacks, values of a wrong
/// type or outside their range. One line for each parameter, with the number of proposals that have the problem.
[[nodiscard]] std::vector<std::string> unsuitable_parameters(const Settings& settings, const TrainerInfo& info,
                                                             const std::vector<ParamSet>& proposals);

/// Parameters of proposals that no word of a program's command line has, while others are there as {NAME}. One line for each.
[[nodiscard]] std::vector<std::string> unused_parameters(const Settings& settings, const TrainerInfo& info,
                                                         const std::vector<ParamSet>& proposals);

/// What the trainer's own list says against parameters that a rule has changed; nothing: it takes them.
[[nodiscard]] std::optional<std::string> unsuitable_change(const Settings& settings, const TrainerInfo& info, const ParamSet& changed);

/// What the rules of a script do with failures that could come.
struct RuleProblems {
    std::set<std::string> impossible;  ///< what they ask for and the trainer or this machine lacks: levers, devices, parameters
    /// Retries that change nothing for any failure of a kind, or only the device to one that the run does not have. The recovery policy
    /// decides instead.
    std::set<std::string> idle;
    std::set<std::string> failing;  ///< errors of their own, each once; a real failure would end its trial with them
};

/// The rules of a copy of the script are asked about made-up failures of the proposals; what they would do under other failures stays
/// open.
[[nodiscard]] RuleProblems rule_problems(const Settings& settings, const TrainerInfo& info, const std::vector<ParamSet>& proposals);

/// Proposals that differ in a choice or a whole branch, as few as show every choice of every categorical once.
[[nodiscard]] std::vector<ParamSet> representatives(const std::vector<ParamSet>& drawn);

/// The proposals with every number at the smallest and at the largest value that the space allows. Choices are numbers too if all of them
/// are; other choices are the first. A proposal that the space refuses is left out.
[[nodiscard]] std::vector<ParamSet> extremes(const Settings& settings);

/// The effective batch that the trainer uses where the space does not ask for it: that of the script's options for it, else its standard.
[[nodiscard]] std::optional<std::int64_t> unsearched_batch(const Settings& settings, const TrainerInfo& info);

/// Throws bad_value for a plan whose micro-batch is larger than the batch of each proposal: it would have no effect.
void require_micro_batch(const Settings& settings, const TrainerInfo& info, const std::vector<ParamSet>& proposals);

/// The plan of a first attempt, before the guard.
[[nodiscard]] ExecutionPlan first_plan(const Settings& settings, const TrainerInfo& info, const ParamSet& params,
                                       const std::string& device);

}  // namespace hpo::tune
