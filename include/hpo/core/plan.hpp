// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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
/// policy choose it. Samplers never see it.
struct ExecutionPlan {
    /// Examples whose gradients are averaged for one optimizer step. It is a parameter of the trial, copied here for the trainer. Nullopt
    /// for a trainer without such a parameter. If a step has several such batches (train.grad_accum), this is one of them.
    std::optional<std::int64_t> effective_batch;
    /// Examples in one forward and backward pass; nullopt: as many as the effective batch.
    std::optional<std::int64_t> micro_batch;
    bool activation_checkpointing = false;  ///< compute activations again in the backward pass
    Precision precision = Precision::fp32;
    bool expandable_segments = false;       ///< CUDA allocator, LibTorch 2.1 or later
    std::string allocator_settings;         ///< further PYTORCH_CUDA_ALLOC_CONF entries, for CUDA workers
    std::string device = "cpu";             ///< "cpu", "cuda:0"
    std::optional<std::int64_t> cap_bytes;  ///< hard limit on the worker's own device memory
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
    /// plan_fields.hpp says them.
    static constexpr void fields(auto field);
};

}  // namespace hpo
