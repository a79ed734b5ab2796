// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <istream>
#include <optional>

namespace hpo::worker {

/// The number after `oom_kill ` at the start of a line, as /proc/vmstat, memory.events and memory.oom_control have it.
[[nodiscard]] std::optional<std::int64_t> oom_kills_in(std::istream& text);

/// How often the kernel's OOM killer has struck so far: on the whole machine and in this process's own control groups.
/// It grows when a worker died of it, and means nothing else; files that are not there count as 0.
[[nodiscard]] std::int64_t oom_kills();

}  // namespace hpo::worker

#ifndef HPO_COMPILED
#include "hpo/worker/impl/oom_killer_inl.hpp"
#endif
