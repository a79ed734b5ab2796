// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// The peak of device memory, in bytes, that a program kept in a trial's user attributes: `peak_memory_gb` (10^9 bytes), or a common name
/// such as `max_memory_allocated`, `gpu_mem` or `peak_vram`, with or without a unit behind it (bytes, kb, mb, gb, kib, mib, gib). A text
/// may hold the unit, as "3072MiB" does. Without a unit it is bytes if it is at least 1 MiB. A smaller number could be anything, and is not
/// read. If there are several, the largest counts.
[[nodiscard]] std::optional<std::int64_t> peak_attribute(const Attributes& attributes);

/// The names of attributes that may hold a peak and are not read: a small number without a unit, or memory of which the name does not say
/// whose it is, as in mem_gb.
[[nodiscard]] std::set<std::string> unread_peaks(std::span<const Trial> trials);

}  // namespace hpo::analysis
