// SPDX-License-Identifier: MIT
#include "hpo/analysis/logs/log_time.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace hpo::analysis::detail {
namespace {

constexpr std::int64_t second_us = 1'000'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Reads a line from left to right. What does not fit leaves it where it was.
class Reader {
public:
    Reader(std::string_view line, std::size_t at) : line_{line}, at_{at} {}

    [[nodiscard]] std::size_t at() const noexcept { return at_; }
    [[nodiscard]] char next() const noexcept { return at_ < line_.size() ? line_[at_] : '\0'; }

    bool one_of(std::string_view characters) {
        const bool is_there = at_ < line_.size() && characters.find(line_[at_]) != std::string_view::npos;
        at_ += is_there ? 1 : 0;
        return is_there;
    }
    /// One or more of them.
    bool some(std::string_view characters) {
        const bool is_there = one_of(characters);
        while (one_of(characters)) continue;
        return is_there;
    }
    /// One or more letters.
    bool letters() {
        const std::size_t begin = at_;
        while (is_letter(next())) ++at_;
        return at_ > begin;
    }
    bool word(std::string_view expected) {
        if (!line_.substr(at_).starts_with(expected)) return false;
        at_ += expected.size();
        return true;
    }
    /// A whole number of so many digits, with no digit behind it.
    std::optional<std::int64_t> number(std::size_t fewest, std::size_t most) {
        std::int64_t value = 0;
        std::size_t digits = 0;
        while (digits <= most && at_ + digits < line_.size() && is_digit(line_[at_ + digits]))
            value = value * 10 + (line_[at_ + digits++] - '0');
        if (digits < fewest || digits > most) return std::nullopt;
        at_ += digits;
        return value;
    }
    /// "Jan" or "January": its number from 1.
    std::optional<std::int64_t> month() {
        static constexpr std::array<std::string_view, 12> names{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                                "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (!word(names[i])) continue;
            letters();
            return static_cast<std::int64_t>(i) + 1;
        }
        return std::nullopt;
    }

private:
    std::string_view line_;
    std::size_t at_;
};

/// The microseconds at which a day begins.
std::optional<std::int64_t> day_us(std::optional<std::int64_t> year, std::optional<std::int64_t> month, std::optional<std::int64_t> day) {
    if (!year || !month || !day || *year < 1970) return std::nullopt;
    const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(*year)}, std::chrono::month{static_cast<unsigned>(*month)},
                                           std::chrono::day{static_cast<unsigned>(*day)}};
    if (!date.ok()) return std::nullopt;
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::sys_days{date}.time_since_epoch()).count();
}

/// ",123": a part of a second, if one is there.
LogTime with_part(Reader& in, std::int64_t microseconds) {
    LogTime time{.microseconds = microseconds, .precision = second_us};
    Reader part = in;
    if (!part.one_of(",.") || !is_digit(part.next())) return time;
    while (is_digit(part.next())) {
        if (time.precision > 1) {
            time.precision /= 10;
            time.microseconds += (part.next() - '0') * time.precision;
        }
        part.one_of("0123456789");
    }
    in = part;
    return time;
}

/// "12:00:00,123 PM", as the time after midnight.
std::optional<LogTime> clock(Reader& in) {
    const auto hour = in.number(1, 2);
    if (!hour || !in.one_of(":")) return std::nullopt;
    const auto minute = in.number(2, 2);
    if (!minute || !in.one_of(":")) return std::nullopt;
    const auto second = in.number(2, 2);
    if (!second || *hour > 24 || *minute > 59 || *second > 60) return std::nullopt;
    LogTime time = with_part(in, ((*hour * 60 + *minute) * 60 + *second) * second_us);
    Reader half = in;
    half.some(" ");
    const bool is_am = half.word("AM") || half.word("am");
    const bool is_pm = !is_am && (half.word("PM") || half.word("pm"));
    if ((is_am || is_pm) && *hour >= 1 && *hour <= 12 && !is_letter(half.next())) {
        constexpr std::int64_t half_day_us = 12 * 3600 * second_us;
        if (*hour == 12) time.microseconds -= half_day_us;
        if (is_pm) time.microseconds += half_day_us;
        in = half;
    }
    return time;
}

std::optional<LogTime> on_day(std::optional<std::int64_t> day, std::optional<LogTime> time) {
    if (!day || !time) return std::nullopt;
    return LogTime{.microseconds = *day + time->microseconds, .precision = time->precision};
}

/// A time of the latest year in which it is not in the future.
std::optional<LogTime> in_latest_year(std::optional<std::int64_t> month, std::optional<std::int64_t> day, std::optional<LogTime> time) {
    const auto now = std::chrono::system_clock::now() + std::chrono::days{1};  // whatever the time zone is
    const std::int64_t year = int{std::chrono::year_month_day{std::chrono::floor<std::chrono::days>(now)}.year()};
    const auto latest = on_day(day_us(year, month, day), time);
    const auto now_us = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count();
    return latest && latest->microseconds <= now_us ? latest : on_day(day_us(year - 1, month, day), time);
}

/// "2026-01-31 12:00:00".
std::optional<LogTime> year_first(Reader& in) {
    const auto year = in.number(4, 4);
    const char between = in.next();
    if (!year || !in.one_of("-/.")) return std::nullopt;
    const auto month = in.number(2, 2);
    if (!month || !in.one_of({&between, 1})) return std::nullopt;
    const auto day = in.number(2, 2);
    if (!day || !in.one_of(" T_")) return std::nullopt;
    return on_day(day_us(year, month, day), clock(in));
}

/// "31.01.2026, 12:00:00", "01/31/2026 12:00:00".
std::optional<LogTime> year_last(Reader& in) {
    auto day = in.number(1, 2);
    const char between = in.next();
    if (!day || !in.one_of("./")) return std::nullopt;
    auto month = in.number(1, 2);
    if (!month || !in.one_of({&between, 1})) return std::nullopt;
    const auto year = in.number(4, 4);
    if (!year || !in.some(", ")) return std::nullopt;
    if (between == '/' && *day <= 12) std::swap(day, month);
    return on_day(day_us(year, month, day), clock(in));
}

/// "20260131-120000".
std::optional<LogTime> without_marks(Reader& in) {
    const auto date = in.number(8, 8);
    if (!date || !in.one_of("-_T")) return std::nullopt;
    const auto time = in.number(6, 6);
    if (!time || *time / 10000 > 23 || *time / 100 % 100 > 59 || *time % 100 > 60) return std::nullopt;
    const std::int64_t seconds = (*time / 10000 * 60 + *time / 100 % 100) * 60 + *time % 100;
    return on_day(day_us(*date / 10000, *date / 100 % 100, *date % 100), with_part(in, seconds * second_us));
}

/// "31 Jan 2026 12:00:00".
std::optional<LogTime> day_and_name(Reader& in) {
    const auto day = in.number(1, 2);
    if (!day || !in.one_of(" -/")) return std::nullopt;
    const auto month = in.month();
    if (!month || !in.one_of(" -/")) return std::nullopt;
    const auto year = in.number(4, 4);
    if (!year || !in.some(" :,")) return std::nullopt;
    return on_day(day_us(year, month, day), clock(in));
}

/// "Jan 31, 2026 12:00:00", and "Jan 31 12:00:00 2026" as `date` and C write it.
std::optional<LogTime> name_first(Reader& in) {
    const auto month = in.month();
    if (!month || !in.some(" ")) return std::nullopt;
    const auto day = in.number(1, 2);
    if (!day || !in.some(", ")) return std::nullopt;
    Reader with_year = in;
    if (const auto year = with_year.number(4, 4); year && with_year.some(", ")) {
        in = with_year;
        return on_day(day_us(year, month, day), clock(in));
    }
    const auto time = clock(in);
    if (!time) return std::nullopt;
    Reader behind = in;
    const bool has_zone = behind.some(" ") && behind.letters();
    if (has_zone) behind.some(" ");
    if (const auto year = behind.number(4, 4)) {
        in = behind;
        return on_day(day_us(year, month, day), time);
    }
    return in_latest_year(month, day, time);
}

/// "I0131 12:00:00.123456", as glog writes it.
std::optional<LogTime> level_first(Reader& in) {
    if (!in.one_of("IWEF")) return std::nullopt;
    const auto date = in.number(4, 4);
    if (!date || !in.some(" ")) return std::nullopt;
    return in_latest_year(*date / 100, *date % 100, clock(in));
}

/// "1769860800.123", or "1769860800" before a blank or a bracket.
std::optional<LogTime> since_epoch(Reader& in) {
    const auto seconds = in.number(10, 10);
    constexpr std::int64_t year_2015 = 1'420'070'400;
    const bool ends = in.next() == '.' || in.next() == ' ' || in.next() == ']' || in.next() == ',';
    return seconds && *seconds >= year_2015 && ends ? std::optional{with_part(in, *seconds * second_us)} : std::nullopt;
}

/// True where a number of seconds may stand for the time of the line.
bool may_be_epoch(std::string_view before) {
    if (before.find_first_not_of(" [(") == std::string_view::npos) return true;
    if (!before.starts_with('{')) return false;
    while (before.ends_with(' ')) before.remove_suffix(1);
    for (const std::string_view key : {"\"ts\":", "\"time\":", "\"timestamp\":"}) {
        if (before.ends_with(key)) return true;
    }
    return false;
}

/// The first time in a line at `from` or behind it. `from` becomes the place behind it.
std::optional<LogTime> next_log_time(std::string_view line, std::size_t& from) {
    constexpr std::size_t furthest = 200;
    constexpr std::array numbered{year_first, year_last, without_marks, day_and_name};
    for (std::size_t at = from; at < line.size() && at < furthest; ++at) {
        const bool begins_word = at == 0 || !(is_digit(line[at - 1]) || is_letter(line[at - 1]));
        if (!begins_word) continue;
        const auto read = [&](auto form) {
            Reader in{line, at};
            const auto time = form(in);
            if (time) from = in.at();
            return time;
        };
        if (is_digit(line[at])) {
            for (const auto form : numbered) {
                if (const auto time = read(form)) return time;
            }
            if (may_be_epoch(line.substr(0, at))) {
                if (const auto time = read(since_epoch)) return time;
            }
        } else if (line[at] >= 'A' && line[at] <= 'W') {  // the first letter of a month, or of a level
            if (const auto time = read(name_first)) return time;
            if (const auto time = read(level_first)) return time;
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<LogTime> log_time(std::string_view line) {
    std::size_t from = 0;
    return next_log_time(line, from);
}

std::optional<LogTime> last_log_time(std::string_view line) {
    std::optional<LogTime> last;
    std::size_t from = 0;
    for (auto time = next_log_time(line, from); time; time = next_log_time(line, from)) last = time;
    return last;
}

}  // namespace hpo::analysis::detail
