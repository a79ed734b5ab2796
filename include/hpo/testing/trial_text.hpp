// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <type_traits>

#include "hpo/core/history.hpp"
#include "hpo/core/plan_fields.hpp"
#include "hpo/core/trial.hpp"

namespace hpo::testing {

// A trial as text, with all its members. Equal texts mean equal trials, NaN included, and a difference is easy to read. Design note:
// structured bindings are used. So a new member of one of these types does not compile here until it is compared, and therefore stored.

[[nodiscard]] inline std::string text_of(std::int64_t value) { return std::to_string(value); }
[[nodiscard]] inline std::string text_of(int value) { return std::to_string(value); }
[[nodiscard]] inline std::string text_of(bool value) { return value ? "true" : "false"; }
[[nodiscard]] inline std::string text_of(double value) { return number_text(value); }
[[nodiscard]] inline std::string text_of(const std::string& value) { return json_quote(value); }
[[nodiscard]] inline std::string text_of(const Time& value) { return std::to_string(microseconds_since_epoch(value)) + " us"; }
[[nodiscard]] inline std::string text_of(OomCause value) { return std::string{to_text(value)}; }
[[nodiscard]] inline std::string text_of(OutcomeKind value) { return "outcome " + std::to_string(static_cast<int>(value)); }
[[nodiscard]] inline std::string text_of(const ParamSet& params);
[[nodiscard]] inline std::string text_of(const Failure& failure);
[[nodiscard]] inline std::string text_of(const Estimate& estimate);
template <class T>
[[nodiscard]] std::string text_of(const std::optional<T>& value) {
    return value ? text_of(*value) : "none";
}
template <class T>
[[nodiscard]] std::string text_of(const HeapOptional<T>& value) {
    return value ? text_of(*value) : "none";
}

[[nodiscard]] inline std::string text_of(const ParamSet& params) {
    std::string text;
    for (const Param& param : params) {
        text += (text.empty() ? "" : "; ") + param.name + " = " + number_text(param.internal) + " (" + json_text(param.value()) + ") in " +
                describe(*param.distribution);
    }
    return "{" + text + "}";
}
[[nodiscard]] inline std::string text_of(const MemoryReading& reading) {
    const auto& [allocated, reserved, free, capacity, limit, peak_allocated, peak_reserved, neighbours] = reading;
    std::string text = text_of(allocated) + "/" + text_of(reserved) + "/" + text_of(free) + "/" + text_of(capacity) + "/" + text_of(limit) +
                       "/" + text_of(peak_allocated) + "/" + text_of(peak_reserved);
    for (const auto& [pid, bytes, program] : neighbours)
        text += " neighbour " + text_of(pid) + ":" + text_of(bytes) + ":" + text_of(program);
    return text;
}
[[nodiscard]] inline std::string text_of(const Failure& failure) {
    const auto& [kind, message, type, code, signal, exit_status, where, traceback, memory, requested_bytes, cause, evidence] = failure;
    return std::string{to_text(kind)} + " message " + text_of(message) + " type " + text_of(type) + " code " + text_of(code) + " signal " +
           text_of(signal) + " exit " + text_of(exit_status) + " where " + text_of(where) + " traceback " + text_of(traceback) +
           " memory " + text_of(memory) + " requested " + text_of(requested_bytes) + " cause " + text_of(cause) + " evidence " +
           text_of(evidence);
}
[[nodiscard]] inline std::string text_of(const Estimate& estimate) {
    const auto& [need, comfort, parts, source, confidence, cap_bytes] = estimate;
    std::string text = text_of(need) + "/" + text_of(comfort) + " by " + text_of(source) + " confidence " + text_of(confidence) + " cap " +
                       text_of(cap_bytes);
    for (const auto& [name, bytes] : parts) text += " " + name + ":" + text_of(bytes);
    return text;
}
[[nodiscard]] inline std::string text_of(const ExecutionPlan& plan) {
    std::string text;
    each_plan_field([&]<class T>(const PlanField<T>& field) {
        const T& value = plan.*field.member;
        text += (text.empty() ? "" : " ") + std::string{field.key} + " ";
        if constexpr (std::is_enum_v<T>) text += to_text(value);
        else text += text_of(value);
    });
    return text;
}
[[nodiscard]] inline std::string text_of(const Attempt& attempt) {
    const auto& [index, plan, changed_params, estimate, capacity_bytes, device_name, model_family, worker_pid, fresh_worker, resumed_step,
                 checkpoint_step, started, seconds, outcome, failure, peak_allocated, peak_reserved, approximate, decision, memory,
                 reports] = attempt;
    std::string text = "attempt " + text_of(index) + "\n    plan " + text_of(plan) + "\n    changed " + text_of(changed_params) +
                       "\n    estimate " + text_of(estimate) + "\n    worker " + text_of(worker_pid) + " fresh " + text_of(fresh_worker) +
                       " capacity " + text_of(capacity_bytes) + " of " + device_name + ", " + model_family + " started " +
                       text_of(started) + " resumed " + text_of(resumed_step) + " checkpoint " + text_of(checkpoint_step) + " seconds " +
                       text_of(seconds) + " " + text_of(outcome) + "\n    failure " + text_of(failure) + "\n    peaks " +
                       text_of(peak_allocated) + "/" + text_of(peak_reserved) + " approximate " + text_of(approximate) + " decision " +
                       text_of(decision);
    for (const auto& [name, at, step, reading] : memory) {
        text += "\n    mark " + name + " at " + text_of(at) + " step " + text_of(step) + ": " + text_of(reading);
    }
    for (const auto& [step, value] : reports) text += "\n    report " + text_of(step) + ": " + text_of(value);
    return text;
}
[[nodiscard]] inline std::string text_of(const Rejection& rejection) {
    const auto& [params, estimate, violation, reason, at, plan, capacity_bytes] = rejection;
    return text_of(params) + " estimate " + text_of(estimate) + " violation " + text_of(violation) + " " + text_of(reason) + " at " +
           text_of(at) + " plan " + text_of(plan) + " capacity " + text_of(capacity_bytes);
}
[[nodiscard]] inline std::string text_of(const Trial& trial) {
    const auto& [id, number, state, params, values, intermediate, user_attributes, system_attributes, fixed, constraints, started,
                 completed, attempts] = trial;
    std::string text = "trial " + text_of(number) + " (id " + text_of(id) + ") " + std::string{to_text(state)} + "\n  params " +
                       text_of(params) + "\n  values";
    for (const double value : values) text += " " + text_of(value);
    for (const auto& [step, value] : intermediate) text += "\n  step " + text_of(step) + ": " + text_of(value);
    for (const auto& [key, json] : user_attributes) text += "\n  user " + key + ": " + json;
    for (const auto& [key, json] : system_attributes) text += "\n  system " + key + ": " + json;
    for (const auto& [name, value] : fixed) text += "\n  fixed " + name + ": " + json_text(value);
    for (const auto& [name, value] : constraints) text += "\n  constraint " + name + ": " + text_of(value);
    text += "\n  started " + text_of(started) + " completed " + text_of(completed);
    for (const Attempt& attempt : attempts) text += "\n  " + text_of(attempt);
    return text + "\n";
}

}  // namespace hpo::testing
