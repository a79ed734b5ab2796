// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/core/attributes.hpp"
#include "hpo/core/failure.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/core/value.hpp"

namespace hpo {

/// All names that source_attributes may write.
inline constexpr std::array<std::string_view, 11> source_attribute_names{
    "peak_memory_gb", "changed_params", "error_message",   "error_traceback", "oom",         "oom_error",
    "oom_config",     "cuda_error",     "cuda_error_type", "cuda_error_msg",  "prune_reason"};

/// Why a trial was pruned.
inline constexpr const char* prune_reason_attribute = "prune_reason";
/// How that begins if nobody but the program pruned the trial. Its own text follows behind ": ".
inline constexpr std::string_view pruned_by_program = "the program pruned the trial itself";

/// The user attributes that existing readers of such studies expect, for a trial that is about to finish. They come from its last attempt
/// and are JSON texts of the types that those readers expect. Attributes that do not apply are left out:
///
/// - a trial with a measured peak: `peak_memory_gb` (10^9 bytes allocated)
/// - a trial whose parameters a rule changed: `changed_params`, all parameters of its last attempt
/// - a failure: `error_message`, `error_traceback`
/// - a memory failure: `oom`, `oom_error`, `oom_config`
/// - a CUDA error: `cuda_error`, `cuda_error_type`, `cuda_error_msg` (500 characters at most)
/// - a failure that ends as PRUNED: `prune_reason`
[[nodiscard]] Attributes source_attributes(const Trial& trial, const Attempt* last, const Failure* failure);

}  // namespace hpo

namespace hpo::detail {

/// The first `count` characters of UTF-8 text.
[[nodiscard]] inline std::string_view first_characters(std::string_view text, std::size_t count) {
    std::size_t end = 0;
    for (std::size_t characters = 0; end < text.size(); ++end) {
        const bool begins = (static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U;
        if (begins && characters++ == count) break;
    }
    return text.substr(0, end);
}

/// "OutOfMemoryError" of "c10::OutOfMemoryError" and "torch.cuda.OutOfMemoryError".
[[nodiscard]] inline std::string_view bare_type(std::string_view type) {
    const auto at = type.find_last_of(".:");
    return at == std::string_view::npos ? type : type.substr(at + 1);
}

/// The parameter with one of these names, either in full or after the last dot ("tok.max_length").
[[nodiscard]] inline const Param* param_named(const ParamSet& params, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
        for (const Param& param : params) {
            const std::string_view full = param.name;
            if (full == name || (full.ends_with(name) && full.size() > name.size() && full[full.size() - name.size() - 1] == '.'))
                return &param;
        }
    }
    return nullptr;
}

/// The configuration in the keys that readers of `oom_config` know, and every parameter. Null for what the trial does not have.
[[nodiscard]] inline std::string oom_config_text(const ParamSet& params, const ExecutionPlan& plan) {
    const auto whole = [](const std::optional<std::int64_t>& number) { return number ? std::to_string(*number) : std::string{"null"}; };
    const auto number = [&](std::initializer_list<std::string_view> names) -> std::optional<std::int64_t> {
        const Param* param = param_named(params, names);
        const auto value = param ? params.number(param->name) : std::nullopt;
        return value ? std::optional{static_cast<std::int64_t>(*value)} : std::nullopt;
    };
    const Param* model = param_named(params, {"model.name", "model_name", "model", "model_choice", "architecture", "arch"});
    const auto batch = plan.effective_micro_batch() ? plan.effective_micro_batch() : number({"batch_size", "batch"});
    const auto batches = number({"grad_accum", "gradient_accumulation_steps", "gradient_accumulation", "accumulation"}).value_or(1);
    const auto accumulation = plan.accumulation_steps() * batches;
    const auto whole_batch = plan.effective_batch ? plan.effective_batch : batch;
    const auto effective = whole_batch ? std::optional{*whole_batch * batches} : std::nullopt;
    return "{\"model\": " + (model ? json_text(model->value()) : "null") + ", \"batch_size\": " + whole(batch) +
           ", \"grad_accum\": " + std::to_string(accumulation) +
           ", \"max_length\": " + whole(number({"max_length", "max_len", "max_seq_length", "sequence_length", "seq_len"})) +
           ", \"effective_batch_size\": " + whole(effective) + ", \"params\": " + json_text(params) + "}";
}

}  // namespace hpo::detail

namespace hpo {

inline Attributes source_attributes(const Trial& trial, const Attempt* last, const Failure* failure) {
    Attributes attributes;
    if (last && last->peak_allocated) attributes["peak_memory_gb"] = number_text(static_cast<double>(*last->peak_allocated) / 1e9);
    if (last && last->changed_params) attributes["changed_params"] = json_text(*last->changed_params);
    if (!failure) return attributes;

    attributes["error_message"] = json_quote(failure->message);
    if (!failure->traceback.empty()) attributes["error_traceback"] = json_quote(failure->traceback);
    const ParamSet& params = last ? params_of(trial, *last) : trial.params;
    const ExecutionPlan plan = last ? last->plan : ExecutionPlan{};
    std::string reason{to_text(failure->kind)};
    if (failure->kind == FailureKind::out_of_memory || failure->kind == FailureKind::host_out_of_memory) {
        attributes["oom"] = "true";
        attributes["oom_error"] = "true";
        attributes["oom_config"] = detail::oom_config_text(params, plan);
        reason = "oom";
    } else if (failure->kind == FailureKind::predicted_oom) {
        attributes["oom_config"] = detail::oom_config_text(params, plan);
        reason = "oom_prevention: " + failure->message;
    } else if (failure->kind == FailureKind::cuda_sticky || failure->kind == FailureKind::cuda_transient ||
               failure->kind == FailureKind::hardware) {
        const std::string_view type = failure->type.empty() ? std::string_view{"RuntimeError"} : detail::bare_type(failure->type);
        attributes["cuda_error"] = "true";
        attributes["cuda_error_type"] = json_quote(type);
        attributes["cuda_error_msg"] = json_quote(detail::first_characters(failure->message, 500));
        reason = "CUDA error (" + std::string{type} + ")";
    }
    if (trial.state == TrialState::pruned) attributes["prune_reason"] = json_quote(reason);
    return attributes;
}

}  // namespace hpo
