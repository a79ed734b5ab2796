// SPDX-License-Identifier: MIT
#include "hpo/analysis/logs/log_time.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include "support/catch.hpp"

using hpo::analysis::detail::last_log_time;
using hpo::analysis::detail::log_time;

TEST_CASE("a line's time is read in the forms that programs write") {
    constexpr std::int64_t noon = 1769860800;  // 2026-01-31 12:00:00 UTC
    for (const char* line : {
             "[I 2026-01-31 12:00:00] a",
             "2026-01-31T12:00:00Z a",
             "2026/01/31 12:00:00 a",
             "2026.01.31_12:00:00 a",
             "31.01.2026 12:00:00 a",
             "31.01.2026, 12:00:00: a",
             "01/31/2026 12:00:00 - INFO - a",
             "31/01/2026 12:00:00 a",
             "1/31/2026 12:00:00 PM a",
             "run_20260131-120000 a",
             "20260131_120000 a",
             "Sat, 31 Jan 2026 12:00:00 +0000 a",
             "[31/Jan/2026:12:00:00 +0000] a",
             "31-Jan-2026 12:00:00 a",
             "Jan 31, 2026 12:00:00 PM a",
             "January 31 2026, 12:00:00 a",
             "Sat Jan 31 12:00:00 2026 a",
             "Sat Jan 31 12:00:00 UTC 2026 a",
             "1769860800 INFO a",
             R"({"time": 1769860800, "msg": "a"})",
         }) {
        INFO(line);
        const auto time = log_time(line);
        REQUIRE(time);
        CHECK(time->microseconds == noon * 1'000'000);
        CHECK(time->precision == 1'000'000);
    }
    CHECK(log_time("1/31/2026 12:00:00 AM")->microseconds == (noon - 12 * 3600) * 1'000'000);
    CHECK(log_time("1/31/2026 01:00:00.5 pm")->microseconds == (noon + 3600) * 1'000'000 + 500'000);
    for (const char* line : {"1769860800.250 a", "[1769860800.250] a", R"({"level": "info", "ts": 1769860800.250, "msg": "a"})",
                             "2026-01-31 12:00:00,250 a", "31.01.2026 12:00:00.250 a"}) {
        INFO(line);
        const auto time = log_time(line);
        REQUIRE(time);
        CHECK(time->microseconds == noon * 1'000'000 + 250'000);
        CHECK(time->precision == 1'000);
    }
    CHECK(last_log_time("2026-01-31 11:00:00 a 31.01.2026 12:00:00 b")->microseconds == noon * 1'000'000);
    CHECK(log_time("2024-02-29 00:00:00")->microseconds == 1709164800LL * 1'000'000);
}

TEST_CASE("a time without a year is of the latest year in which it is not in the future") {
    using namespace std::chrono;
    for (const int ago : {1, 40, 200, 360}) {
        const auto moment = floor<seconds>(system_clock::now()) - days{ago};
        const year_month_day date{floor<days>(moment)};
        const hh_mm_ss clock{moment - floor<days>(moment)};
        static constexpr std::array names{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
        std::array<char, 100> text{};
        const auto hour = static_cast<int>(clock.hours().count());
        const auto minute = static_cast<int>(clock.minutes().count());
        const auto second = static_cast<int>(clock.seconds().count());
        std::snprintf(text.data(), text.size(), "%s %2u %02d:%02d:%02d gpu7 train[812]: a", names.at(unsigned{date.month()} - 1),
                      unsigned{date.day()}, hour, minute, second);
        INFO(text.data());
        REQUIRE(log_time(text.data()));
        CHECK(log_time(text.data())->microseconds == microseconds{moment.time_since_epoch()}.count());
        std::snprintf(text.data(), text.size(), "E%02u%02u %02d:%02d:%02d.500000 7 a.cc:3] a", unsigned{date.month()}, unsigned{date.day()},
                      hour, minute, second);
        REQUIRE(log_time(text.data()));
        CHECK(log_time(text.data())->microseconds == microseconds{moment.time_since_epoch()}.count() + 500'000);
    }
}

TEST_CASE("what is no time is not read as one") {
    for (const char* line : {"",
                             "2026-01-31",
                             "12:00:00",
                             "2026-13-31 12:00:00",
                             "2026-02-30 12:00:00",
                             "2026-01-31 25:00:00",
                             "31/31/2026 12:00:00",
                             "allocated 1769860800.0 bytes",
                             "{\"loss\": 1769860800.5}",
                             "1769860800",
                             "1769860800MiB",
                             "20261331-120000",
                             "20260131-256000",
                             "99999999-999999",
                             "version 12.01.2026.5 12:00",
                             "Mar",
                             "Mark 31, 2026 1",
                             "Jan 32 12:00:00 host a",
                             "I1331 12:00:00 a",
                             "step 3/10/2026",
                             "00010101-000000"}) {
        INFO(line);
        CHECK_FALSE(log_time(line));
    }
    const std::string long_line = std::string(300, ' ') + "2026-01-31 12:00:00";
    CHECK_FALSE(log_time(long_line));
}
