// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string_view>

#include "hpo/core/attributes.hpp"
#include "hpo/core/failure.hpp"
#include "hpo/core/trial.hpp"

namespace hpo {

/// All names that source_attributes may write.
inline constexpr std::array<std::string_view, 11> source_attribute_names{
    "peak_memory_gb", "changed_params", "error_message",   "error_traceback", "oom",         "oom_error",
    "oom_config",     "cuda_error",     "cuda_error_type", "cuda_error_msg",  "prune_reason"};

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

#ifndef HPO_COMPILED
#include "hpo/failure/impl/source_attributes_inl.hpp"
#endif
