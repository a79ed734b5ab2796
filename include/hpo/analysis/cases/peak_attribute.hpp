// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "hpo/core/trial.hpp"

namespace hpo::analysis::inline cases {

/// The peak of device memory, in bytes, that a program kept in a trial's user attributes: `peak_memory_gb` (10^9 bytes), or a common name
/// such as `max_memory_allocated`, `gpu_mem` or `peak_vram`, with or without a unit behind it (bytes, kb, mb, gb, kib, mib, gib). A text
/// may hold the unit, as "3072MiB" does. Without a unit it is bytes if it is at least 1 MiB. A smaller number could be anything, and is not
/// read. If there are several, the largest counts.
[[nodiscard]] std::optional<std::int64_t> peak_attribute(const Attributes& attributes);

}  // namespace hpo::analysis::cases

#ifndef HPO_COMPILED
#include "hpo/analysis/cases/impl/peak_attribute_inl.hpp"
#endif
