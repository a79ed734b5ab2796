// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hpo/core/time.hpp"

namespace hpo::store {

/// What the naive times of a file mean. Optuna writes the local time of its machine before 5.0 and UTC since; the tables do
/// not say which, only `version_info.library_version` hints at it.
enum class TimeZone { utc, local };

/// "2026-11-21 09:37:09.686167", the form of SQLAlchemy's DATETIME in SQLite.
[[nodiscard]] std::string time_text(Time time, TimeZone zone = TimeZone::utc);

/// Reads what time_text writes; the fraction may be shorter or absent, the separator may be a T. Nothing for anything else.
/// A local time that a clock change made ambiguous is read as the C library decides.
[[nodiscard]] std::optional<Time> parse_time(std::string_view text, TimeZone zone = TimeZone::utc);

}  // namespace hpo::store

#ifndef HPO_COMPILED
#include "hpo/store/impl/stored_time_inl.hpp"
#endif
