// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string_view>

#include "hpo/core/attributes.hpp"
#include "hpo/core/failure.hpp"
#include "hpo/core/trial.hpp"

namespace hpo {

/// The names of all that source_attributes may write.
inline constexpr std::array<std::string_view, 11> source_attribute_names{
    "peak_memory_gb", "changed_params", "error_message",   "error_traceback", "oom",         "oom_error",
    "oom_config",     "cuda_error",     "cuda_error_type", "cuda_error_msg",  "prune_reason"};

/// The user attributes that existing readers of such studies look for, for a trial that is about to be finished, from its last attempt;
/// JSON texts, typed as those readers expect. Nothing is written for what does not apply:
/// every trial with a measured peak: `peak_memory_gb` (10^9 bytes allocated);
/// one that ran with other parameters than its own, since a rule changed them: `changed_params`, all of its last attempt's;
/// a failure: `error_message`, `error_traceback`;
/// a memory failure: `oom`, `oom_error`, `oom_config`;
/// a CUDA error: `cuda_error`, `cuda_error_type`, `cuda_error_msg` (500 characters at most);
/// a failure that ends as PRUNED: `prune_reason`.
[[nodiscard]] Attributes source_attributes(const Trial& trial, const Attempt* last, const Failure* failure);

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/failure/impl/source_attributes_inl.hpp"
#endif
