// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hpo/base/time.hpp"

namespace hpo::store {

/// The time zone of a file's times, which are stored without one. Optuna wrote the machine's local time before 5.0, and writes UTC since.
/// The tables do not say which, but `version_info.library_version` is a hint.
enum class TimeZone { utc, local };

/// The time as "2026-11-21 09:37:09.686167", the form of SQLAlchemy's DATETIME in SQLite.
[[nodiscard]] std::string time_text(Time time, TimeZone zone = TimeZone::utc);

/// Reads what time_text writes. The fraction may be shorter or absent, and the separator may be a T. Returns nullopt for any other text. If
/// a local time is ambiguous because of a clock change, the C library decides.
[[nodiscard]] std::optional<Time> parse_time(std::string_view text, TimeZone zone = TimeZone::utc);

}  // namespace hpo::store
