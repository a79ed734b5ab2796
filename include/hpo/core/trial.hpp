// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/flat_map.hpp"
#include "hpo/base/heap_optional.hpp"
#include "hpo/base/time.hpp"
#include "hpo/core/attributes.hpp"
#include "hpo/core/estimate.hpp"
#include "hpo/core/failure.hpp"
#include "hpo/core/fields.hpp"
#include "hpo/core/memory_reading.hpp"
#include "hpo/core/outcome.hpp"
#include "hpo/core/param_set.hpp"
#include "hpo/core/plan.hpp"

namespace hpo {

enum class TrialState { running, complete, pruned, fail, waiting };

/// In Optuna's spelling, which stores use.
inline constexpr std::array<std::string_view, 5> trial_state_names{"RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING"};
template <>
struct EnumNames<TrialState> {
    static constexpr auto& names = trial_state_names;
};
[[nodiscard]] constexpr std::string_view to_text(TrialState state) { return trial_state_names[static_cast<std::size_t>(state)]; }
[[nodiscard]] constexpr bool is_finished(TrialState state) { return state != TrialState::running && state != TrialState::waiting; }

/// Intermediate values by their step.
using StepValues = FlatMap<std::int64_t, double>;
/// Constraint values by their name. A value above 0 is a violation.
using Constraints = FlatMap<std::string, double>;

/// One launch of a trial under one plan. Attempts are kept for the post-mortem.
struct Attempt {
    int index = 0;  ///< 0, 1, ... within the trial
    ExecutionPlan plan;
    HeapOptional<ParamSet> changed_params;       ///< set if a recovery rule changed parameters
    std::optional<Estimate> estimate;            ///< the guard's estimate before launch
    std::optional<std::int64_t> capacity_bytes;  ///< of the plan's device, as the guard saw it; nullopt: not limited
    std::string device_name;                     ///< RunsOn::device_name
    std::string model_family;                    ///< guard::model_family
    std::int64_t worker_pid = 0;
    bool fresh_worker = false;                    ///< the worker was started for this attempt
    std::optional<std::int64_t> resumed_step;     ///< it resumed after the checkpoint of this step; nullopt: it began anew
    std::optional<std::int64_t> checkpoint_step;  ///< step of the last checkpoint that it wrote
    std::optional<Time> started;
    std::optional<double> seconds;       ///< nullopt while it runs
    std::optional<OutcomeKind> outcome;  ///< nullopt while it runs
    HeapOptional<Failure> failure;
    std::optional<std::int64_t> peak_allocated;
    std::optional<std::int64_t> peak_reserved;
    bool approximate = false;
    std::string decision;     ///< the recovery policy's answer in words
    std::string answered_by;  ///< the rung, or the place of the rule, that gave it: "fresh_worker", "study.lua:12"; empty: neither
    std::vector<MemoryMark> memory;
    StepValues reports;  ///< intermediate values that a later attempt reports again; all others are the trial's

    static constexpr void fields(auto field) {
        field("index", &Attempt::index, {.column = "attempt"});
        field("plan", &Attempt::plan);
        field("changed_params", &Attempt::changed_params);
        field("estimate", &Attempt::estimate);
        field("capacity_bytes", &Attempt::capacity_bytes, {.unit = Unit::bytes});
        field("device_name", &Attempt::device_name, {.empty_is_null = true});
        field("model_family", &Attempt::model_family, {.empty_is_null = true});
        field("worker_pid", &Attempt::worker_pid);
        field("fresh_worker", &Attempt::fresh_worker);
        field("resumed_step", &Attempt::resumed_step);
        field("checkpoint_step", &Attempt::checkpoint_step);
        field("started", &Attempt::started, {.column = "started_at"});
        field("seconds", &Attempt::seconds, {.unit = Unit::seconds});
        field("outcome", &Attempt::outcome);
        field("failure", &Attempt::failure);
        field("peak_allocated", &Attempt::peak_allocated, {.unit = Unit::bytes});
        field("peak_reserved", &Attempt::peak_reserved, {.unit = Unit::bytes});
        field("approximate", &Attempt::approximate);
        field("decision", &Attempt::decision);
        field("answered_by", &Attempt::answered_by, {.empty_is_null = true, .since = "0.2.0"});
        field("memory", &Attempt::memory);
        field("reports", &Attempt::reports);
    }
};

/// A trial: the suggested parameters and their result.
struct Trial {
    std::int64_t id = -1;      ///< key in the store
    std::int64_t number = -1;  ///< 0, 1, ... within the study
    TrialState state = TrialState::running;
    ParamSet params;
    std::vector<double> values;  ///< one for each objective if complete; a pruned trial may have one
    StepValues intermediate;
    Attributes user_attributes;
    Attributes system_attributes;
    std::vector<std::pair<std::string, Value>> fixed;  ///< values that an enqueued trial prescribes for its parameters
    Constraints constraints;
    std::optional<Time> started;
    std::optional<Time> completed;
    std::vector<Attempt> attempts;

    static constexpr void fields(auto field) {
        field("id", &Trial::id);
        field("number", &Trial::number);
        field("state", &Trial::state);
        field("params", &Trial::params);
        field("values", &Trial::values);
        field("intermediate", &Trial::intermediate);
        field("user_attributes", &Trial::user_attributes);
        field("system_attributes", &Trial::system_attributes);
        field("fixed", &Trial::fixed);
        field("constraints", &Trial::constraints);
        field("started", &Trial::started);
        field("completed", &Trial::completed);
        field("attempts", &Trial::attempts);
    }

    [[nodiscard]] bool feasible() const { return total_violation() == 0; }
    /// The sum of the positive constraint values; NaN counts as infinite.
    [[nodiscard]] double total_violation() const {
        double sum = 0;
        for (const auto& [name, value] : constraints) {
            if (std::isnan(value)) return HUGE_VAL;
            if (value > 0) sum += value;
        }
        return sum;
    }
};

/// The parameters that an attempt of the trial ran with: the changed ones if a rule changed them, else the trial's.
[[nodiscard]] inline const ParamSet& params_of(const Trial& trial, const Attempt& attempt) {
    return attempt.changed_params ? *attempt.changed_params : trial.params;
}

}  // namespace hpo
