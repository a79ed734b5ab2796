// SPDX-License-Identifier: MIT
#include "hpo/store/sqlite/stored_time.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace hpo::store {

std::string time_text(Time time, TimeZone zone) {
    constexpr std::int64_t second = 1'000'000;
    const auto micros = static_cast<int>((microseconds_since_epoch(time) % second + second) % second);
    const std::time_t since_epoch = (microseconds_since_epoch(time) - micros) / second;
    std::tm parts{};
    if (zone == TimeZone::utc) gmtime_r(&since_epoch, &parts);
    else localtime_r(&since_epoch, &parts);
    std::array<char, 80> text{};
    const int size = std::snprintf(text.data(), text.size(), "%04d-%02d-%02d %02d:%02d:%02d.%06d", parts.tm_year + 1900, parts.tm_mon + 1,
                                   parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, micros);
    return {text.data(), static_cast<std::size_t>(size)};
}

std::optional<Time> parse_time(std::string_view text, TimeZone zone) {
    if (text.size() < 19) return std::nullopt;
    const auto number = [&](std::size_t from, std::size_t count) {
        int value = 0;
        for (std::size_t i = from; i < from + count; ++i) {
            if (text[i] < '0' || text[i] > '9') return -1;
            value = value * 10 + (text[i] - '0');
        }
        return value;
    };
    std::tm parts{};
    const int year = number(0, 4);
    const int month = number(5, 2);
    parts.tm_mday = number(8, 2);
    parts.tm_hour = number(11, 2);
    parts.tm_min = number(14, 2);
    parts.tm_sec = number(17, 2);
    if (year < 0 || month < 1 || parts.tm_mday < 1 || parts.tm_hour < 0 || parts.tm_min < 0 || parts.tm_sec < 0) return std::nullopt;
    parts.tm_year = year - 1900;
    parts.tm_mon = month - 1;
    parts.tm_isdst = -1;
    int micros = 0;
    if (text.size() > 20 && text[19] == '.') {
        for (std::size_t i = 20; i < 26; ++i) {
            const int digit = i < text.size() ? text[i] - '0' : 0;
            if (digit < 0 || digit > 9) return std::nullopt;
            micros = micros * 10 + digit;
        }
    }
    const std::time_t seconds = zone == TimeZone::utc ? timegm(&parts) : mktime(&parts);
    return Time{std::chrono::microseconds{std::int64_t{seconds} * 1'000'000 + micros}};
}

}  // namespace hpo::store
