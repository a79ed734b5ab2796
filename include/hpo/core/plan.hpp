// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "hpo/core/fields.hpp"
namespace hpo {

/// The arithmetic that a trial computes in.
enum class Precision { fp32, bf16, fp16 };

inline constexpr std::array<std::string_view, 3> precision_names{"fp32", "bf16", "fp16"};
template <>
struct EnumNames<Precision> {
    static constexpr auto& names = precision_names;
};
[[nodiscard]] constexpr std::string_view to_text(Precision precision) { return precision_names[static_cast<std::size_t>(precision)]; }

/// How a trial runs: everything that trades memory for time without changing the searched parameters. The memory guard and the recovery
/// policy choose it. Samplers never see it. plan_fields says what each member is.
struct ExecutionPlan {
    std::optional<std::int64_t> effective_batch;
    std::optional<std::int64_t> micro_batch;
    bool activation_checkpointing = false;
    Precision precision = Precision::fp32;
    bool expandable_segments = false;
    std::string allocator_settings;
    std::string device = "cpu";
    std::optional<std::int64_t> cap_bytes;
    /// The smallest limit that a person may set. No model trains with less.
    static constexpr std::int64_t least_memory_bytes = std::int64_t{1} << 20U;

    [[nodiscard]] std::optional<std::int64_t> effective_micro_batch() const {
        if (!effective_batch) return micro_batch;
        return micro_batch && *micro_batch < *effective_batch ? micro_batch : effective_batch;
    }
    /// ceil(effective / micro). The last micro-batch of a step may be smaller; gradients are weighted by the number of examples.
    [[nodiscard]] std::int64_t accumulation_steps() const {
        const auto micro = effective_micro_batch();
        if (!effective_batch || !micro || *micro < 1) return 1;
        return (*effective_batch + *micro - 1) / *micro;
    }
    friend bool operator==(const ExecutionPlan&, const ExecutionPlan&) = default;
    static constexpr void fields(auto field);  ///< plan_fields
};

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
    std::string_view label;    ///< in sentences
    std::string_view summary;  ///< what it is, for people who write C++ or Python
    PlanEffect effect;
    PlanRole role;
    PlanUnit unit;
    std::string_view since;  ///< FieldNames::since

    /// The smallest number that a person may give.
    [[nodiscard]] constexpr std::int64_t least() const { return unit == PlanUnit::bytes ? ExecutionPlan::least_memory_bytes : 1; }

    constexpr PlanField(std::string_view its_key, T ExecutionPlan::*its_member, std::string_view its_label, std::string_view its_summary,
                        PlanEffect its_effect, PlanRole its_role = PlanRole::lever, PlanUnit its_unit = PlanUnit::none,
                        std::string_view first_version = {})
        : key{its_key},
          member{its_member},
          label{its_label},
          summary{its_summary},
          effect{its_effect},
          role{its_role},
          unit{its_unit},
          since{first_version} {}
};

/// Every member of the plan. JSON, the store, scripts, reports and Python's plan all use this list.
inline constexpr std::tuple plan_fields{
    // It is copied from the trial's parameter of that name. If a step has several such batches (train.grad_accum), this is one of them.
    PlanField{"effective_batch", &ExecutionPlan::effective_batch, "effective batch",
              "Examples whose gradients are averaged for one step of the optimizer. Not set for a trainer without such a parameter.",
              PlanEffect::training, PlanRole::parameter, PlanUnit::examples},
    PlanField{"micro_batch", &ExecutionPlan::micro_batch, "micro-batch",
              "Examples in one forward and backward pass. If it is not set, as many as the effective batch.", PlanEffect::training,
              PlanRole::lever, PlanUnit::examples},
    PlanField{"activation_checkpointing", &ExecutionPlan::activation_checkpointing, "activation checkpointing",
              "True: activations are computed again in the backward pass.", PlanEffect::training},
    PlanField{"precision", &ExecutionPlan::precision, "precision", "The arithmetic that the trial computes in: fp32, bf16 or fp16.",
              PlanEffect::training},
    PlanField{"expandable_segments", &ExecutionPlan::expandable_segments, "expandable segments",
              "True: CUDA's allocator may let a segment grow (LibTorch 2.1 or later).", PlanEffect::allocator},
    PlanField{"allocator_settings", &ExecutionPlan::allocator_settings, "allocator settings",
              "Further entries of PYTORCH_CUDA_ALLOC_CONF, for CUDA workers.", PlanEffect::allocator},
    PlanField{"device", &ExecutionPlan::device, "device", "The device that the trial runs on: cpu, cuda:0.", PlanEffect::none,
              PlanRole::placement},
    PlanField{"cap_bytes", &ExecutionPlan::cap_bytes, "cap",
              "The most device memory that the attempt may take, in bytes. If it is not set, there is no limit.", PlanEffect::none,
              PlanRole::lever, PlanUnit::bytes},
};

constexpr void ExecutionPlan::fields(auto field) {
    std::apply([&](const auto&... each) { (field(each.key, each.member, {.since = each.since}), ...); }, plan_fields);
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

}  // namespace hpo
