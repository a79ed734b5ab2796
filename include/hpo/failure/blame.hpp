// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace hpo {

/// Who has to change something so that a failure does not come again.
enum class Blame {
    own,        ///< the attempt: its configuration, its data, or the trainer's code
    neighbour,  ///< another process on the device
    host,       ///< the machine: its memory, its disk, its libraries
    device,     ///< the device itself, or its driver
    unknown,
};

inline constexpr std::array<std::string_view, 5> blame_names{"own", "neighbour", "host", "device", "unknown"};
[[nodiscard]] constexpr std::string_view to_text(Blame blame) { return blame_names[static_cast<std::size_t>(blame)]; }

/// Whether the same attempt, run again in the same way, fails again.
enum class Recurrence {
    deterministic,  ///< it does
    transient,      ///< it may well not: something else was in the way
    unknown,
};

inline constexpr std::array<std::string_view, 3> recurrence_names{"deterministic", "transient", "unknown"};
[[nodiscard]] constexpr std::string_view to_text(Recurrence recurrence) { return recurrence_names[static_cast<std::size_t>(recurrence)]; }

}  // namespace hpo
