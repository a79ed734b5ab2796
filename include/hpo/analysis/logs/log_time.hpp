// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hpo::analysis::detail {

/// A time that a line shows.
struct LogTime {
    std::int64_t microseconds = 0;  ///< since the epoch, read as UTC
    std::int64_t precision = 1;     ///< microseconds: a whole second where no part of one is shown
};

/// The first time in a line: date and clock, in one of the forms that programs write.
///
///     2026-01-31 12:00:00,123    with T or _ between, with / or . in the date
///     31.01.2026, 12:00:00       the day first
///     01/31/2026 12:00:00 PM     the month first, unless it is above 12
///     20260131-120000
///     31 Jan 2026 12:00:00       also Sat, 31-Jan-2026 and 31/Jan/2026:12:00:00
///     Jan 31, 2026 12:00:00 PM
///     Sat Jan 31 12:00:00 2026   also with a time zone before the year
///     Jan 31 12:00:00            of the latest year in which that is not in the future, as journalctl and syslog write it; I0131 12:00:00
///     too 1769860800.123             at the beginning, or behind "ts", "time" or "timestamp" of a line in JSON
[[nodiscard]] std::optional<LogTime> log_time(std::string_view line);
/// The last one.
[[nodiscard]] std::optional<LogTime> last_log_time(std::string_view line);

}  // namespace hpo::analysis::detail
