// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <istream>
#include <optional>

namespace hpo::worker {

/// The number after `oom_kill ` at the start of a line, as in /proc/vmstat, memory.events and memory.oom_control.
[[nodiscard]] std::optional<std::int64_t> oom_kills_in(std::istream& text);

/// How often the kernel's OOM killer has killed so far, on the whole machine and in this process's own control groups. Only its growth has
/// a meaning: it grows when a worker dies of the killer. Empty if none of the kernel's files has the count.
[[nodiscard]] std::optional<std::int64_t> oom_kills();

/// True if oom_kills() has grown since it was `before`. Empty if either is unknown.
[[nodiscard]] std::optional<bool> oom_killed_since(const std::optional<std::int64_t>& before);

}  // namespace hpo::worker
