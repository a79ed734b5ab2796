// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "hpo/base/bytes.hpp"
#include "hpo/core/fields.hpp"
#include "hpo/core/plan.hpp"

namespace hpo {

/// Who chooses a member of the plan.
enum class PlanRole {
    parameter,  ///< the sampler: it is a copy of a parameter, which recovery rules do not set
    lever,      ///< the memory guard and the recovery policy; a trainer says which levers it obeys
    placement,  ///< the choice of the device
};

/// What a member of the plan acts on.
enum class PlanEffect {
    training,   ///< the trainer obeys it, and its memory peak changes
    allocator,  ///< the allocator of the attempt's process, whose peak changes
    none,       ///< where the attempt runs, and where it is stopped: its peak stays what it is
};

enum class PlanUnit { none, examples, bytes };

/// A member of the plan.
template <class T>
struct PlanField {
    std::string_view key;  ///< in JSON, as a column, in Lua
    T ExecutionPlan::*member;
    std::string_view label;  ///< in sentences
    PlanEffect effect;
    PlanRole role;
    PlanUnit unit;

    /// The smallest number that a person may give.
    [[nodiscard]] constexpr std::int64_t least() const { return unit == PlanUnit::bytes ? ExecutionPlan::least_memory_bytes : 1; }

    constexpr PlanField(std::string_view its_key, T ExecutionPlan::*its_member, std::string_view its_label, PlanEffect its_effect,
                        PlanRole its_role = PlanRole::lever, PlanUnit its_unit = PlanUnit::none)
        : key{its_key}, member{its_member}, label{its_label}, effect{its_effect}, role{its_role}, unit{its_unit} {}
};

/// Every member of the plan. JSON, the store, scripts and reports all use this list.
inline constexpr std::tuple plan_fields{
    PlanField{"effective_batch", &ExecutionPlan::effective_batch, "effective batch", PlanEffect::training, PlanRole::parameter,
              PlanUnit::examples},
    PlanField{"micro_batch", &ExecutionPlan::micro_batch, "micro-batch", PlanEffect::training, PlanRole::lever, PlanUnit::examples},
    PlanField{"activation_checkpointing", &ExecutionPlan::activation_checkpointing, "activation checkpointing", PlanEffect::training},
    PlanField{"precision", &ExecutionPlan::precision, "precision", PlanEffect::training},
    PlanField{"expandable_segments", &ExecutionPlan::expandable_segments, "expandable segments", PlanEffect::allocator},
    PlanField{"allocator_settings", &ExecutionPlan::allocator_settings, "allocator settings", PlanEffect::allocator},
    PlanField{"device", &ExecutionPlan::device, "device", PlanEffect::none, PlanRole::placement},
    PlanField{"cap_bytes", &ExecutionPlan::cap_bytes, "cap", PlanEffect::none, PlanRole::lever, PlanUnit::bytes},
};

constexpr void ExecutionPlan::fields(auto field) {
    std::apply([&](const auto&... each) { (field(each.key, each.member), ...); }, plan_fields);
}
static_assert(described_members<ExecutionPlan> == detail::count_members<ExecutionPlan>(), "plan_fields lacks a member of the plan");

/// Calls `visit` with each PlanField, in order.
template <class Visit>
constexpr void each_plan_field(Visit&& visit) {
    std::apply([&](const auto&... field) { (visit(field), ...); }, plan_fields);
}

/// True if two plans differ at most in their batches, their device and their cap.
[[nodiscard]] inline bool same_levers(const ExecutionPlan& a, const ExecutionPlan& b) {
    bool same = true;
    each_plan_field([&](const auto& field) {
        if (field.effect != PlanEffect::none && field.unit != PlanUnit::examples) same = same && a.*field.member == b.*field.member;
    });
    return same;
}

/// A member's value in words: "precision bf16", "activation checkpointing", "cap 600.00 MiB". Empty for a member that is off or not set.
template <class T>
[[nodiscard]] std::string plan_words(const PlanField<T>& field, const T& value) {
    const auto with = [&](std::string_view text) { return std::string{field.label} + " " + std::string{text}; };
    if constexpr (std::same_as<T, bool>) {
        return value ? std::string{field.label} : "";
    } else if constexpr (std::same_as<T, std::string>) {
        return value.empty() ? "" : with(value);
    } else if constexpr (std::same_as<T, std::optional<std::int64_t>>) {
        if (!value) return "";
        return with(field.unit == PlanUnit::bytes ? format_bytes(*value) : std::to_string(*value));
    } else {
        return with(to_text(value));
    }
}

}  // namespace hpo
