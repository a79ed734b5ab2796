// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "hpo/analysis/logs/log_line.hpp"
#include "hpo/base/inline.hpp"

namespace hpo::analysis::detail {

HPO_INLINE std::string without_escapes(std::string_view line) {
    std::string plain;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] != '\x1b') {
            plain += line[i];
            continue;
        }
        if (i + 1 < line.size() && line[i + 1] == '[') {
            i += 2;
            while (i < line.size() && (line[i] < '@' || line[i] > '~')) ++i;
        }
    }
    return plain;
}

HPO_INLINE std::optional<std::int64_t> log_time(std::string_view line) {
    constexpr std::string_view shape = "dddd-dd-dd dd:dd:dd";
    for (std::size_t at = 0; at + shape.size() <= line.size() && at < 200; ++at) {
        bool fits = true;
        for (std::size_t i = 0; fits && i < shape.size(); ++i) {
            const char c = line[at + i];
            fits = shape[i] == 'd' ? c >= '0' && c <= '9' : shape[i] == ' ' ? c == ' ' || c == 'T' : c == shape[i];
        }
        if (!fits) continue;
        const auto number = [&](std::size_t from, std::size_t count) {
            std::int64_t value = 0;
            for (std::size_t i = 0; i < count; ++i) value = value * 10 + (line[at + from + i] - '0');
            return value;
        };
        // Days since the epoch: Hinnant, "chrono-compatible low-level date algorithms", 2013.
        const std::int64_t month = number(5, 2);
        const std::int64_t day = number(8, 2);
        if (month < 1 || month > 12 || day < 1 || day > 31) return std::nullopt;
        const std::int64_t year = number(0, 4) - (month <= 2 ? 1 : 0);
        const std::int64_t era = year / 400;
        const std::int64_t of_era = year - era * 400;
        const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
        const std::int64_t days = era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719468;
        std::int64_t micros = ((days * 24 + number(11, 2)) * 60 + number(14, 2)) * 60 + number(17, 2);
        micros *= 1'000'000;
        const std::size_t point = at + shape.size();
        if (point < line.size() && (line[point] == ',' || line[point] == '.')) {
            std::int64_t scale = 100'000;
            for (std::size_t i = point + 1; i < line.size() && line[i] >= '0' && line[i] <= '9' && scale > 0; ++i, scale /= 10)
                micros += (line[i] - '0') * scale;
        }
        return micros;
    }
    return std::nullopt;
}

HPO_INLINE std::optional<LogEvent> log_event(std::string_view line) {
    for (const std::string_view before : {"Trial ", "trial#"}) {
        for (auto at = line.find(before); at != std::string_view::npos; at = line.find(before, at + 1)) {
            const std::string_view digits = line.substr(at + before.size());
            std::int64_t number = 0;
            const auto [stop, status] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
            if (status != std::errc{} || number < 0) continue;
            const std::string_view rest = digits.substr(static_cast<std::size_t>(stop - digits.data()));
            LogEvent event{.microseconds = log_time(line.substr(0, at)), .trial = number, .params = {}, .error = {}, .traceback = {}};
            const auto part = [&](std::string_view begin, std::string_view end) -> std::optional<std::string> {
                const auto from = rest.find(begin);
                if (from == std::string_view::npos) return std::nullopt;
                const auto to = end.empty() ? rest.size() : rest.rfind(end);
                if (to == std::string_view::npos || to < from + begin.size()) return std::nullopt;
                return std::string{rest.substr(from + begin.size(), to - from - begin.size())};
            };
            if (rest.starts_with(" finished with value") || rest.starts_with(" finished resulting in value")) {
                event.state = TrialState::complete;
                event.params = part(" parameters: ", rest.find(". Best is trial") == std::string_view::npos ? "." : ". Best is trial");
                return event;
            }
            if (rest.starts_with(" pruned.")) {
                event.state = TrialState::pruned;
                return event;
            }
            constexpr std::string_view because = "because of the following error: ";
            const bool failed = rest.starts_with(" failed with parameters: ") || rest.starts_with(" failed because ") ||
                                rest.starts_with(" failed, because ") || rest.starts_with(" as TrialState.FAIL because ");
            if (!failed) continue;
            const auto first = rest.find(because);
            if (rest.starts_with(" failed with parameters: ") && first != std::string_view::npos)
                event.params = std::string{rest.substr(25, first - 26)};
            event.error = first != std::string_view::npos ? rest.substr(first + because.size()) : rest.substr(rest.find("because ") + 8);
            if (event.error.ends_with('.')) event.error.pop_back();
            return event;
        }
    }
    return std::nullopt;
}

/// The rest of a shell's message about a process, after ": line 3:   712 ". Returns nullopt if the line is not such a message.
[[nodiscard]] HPO_INLINE std::optional<std::string_view> after_process_number(std::string_view line) {
    const auto skip = [&](std::string_view characters) {
        const auto end = std::min(line.find_first_not_of(characters), line.size());
        line.remove_prefix(end);
        return end > 0;
    };
    constexpr std::string_view place = ": line ";
    constexpr std::string_view digits = "0123456789";
    const auto at = line.find(place);
    if (at == std::string_view::npos) return std::nullopt;
    line.remove_prefix(at + place.size());
    if (!skip(digits) || !line.starts_with(':')) return std::nullopt;
    line.remove_prefix(1);
    if (!skip(" ") || !skip(digits) || !skip(" ")) return std::nullopt;
    return line;
}

HPO_INLINE std::optional<std::pair<int, std::string_view>> death_of_process(std::string_view line) {
    static constexpr std::array<std::pair<int, std::string_view>, 4> deaths{
        {{9, "Killed"}, {11, "Segmentation fault"}, {6, "Aborted"}, {7, "Bus error"}}};
    const auto process = after_process_number(line);
    for (const auto& [signal, words] : deaths) {
        if (line == words || (line.starts_with(words) && line.substr(words.size()).starts_with(" (core dumped)")))
            return std::pair{signal, words};
        if (process && process->starts_with(words)) return std::pair{signal, words};
    }
    return std::nullopt;
}

HPO_INLINE std::optional<std::int64_t> named_trial(std::string_view line) {
    const std::string lower = hpo::detail::lower_case(line);
    constexpr std::string_view word = "trial";
    std::optional<std::int64_t> found;
    for (auto at = lower.find(word); at != std::string::npos; at = lower.find(word, at + 1)) {
        if (at > 0 && std::isalpha(static_cast<unsigned char>(lower[at - 1])) != 0) continue;
        std::size_t digits = at + word.size();
        for (const std::string_view between : {"_id", "_number", " number", " no."}) {
            if (lower.compare(digits, between.size(), between) == 0) digits += between.size();
        }
        while (digits < lower.size() && std::string_view{" #=:_-"}.find(lower[digits]) != std::string_view::npos) ++digits;
        std::int64_t number = 0;
        const auto [stop, status] = std::from_chars(lower.data() + digits, lower.data() + lower.size(), number);
        if (status != std::errc{} || (stop != lower.data() + lower.size() && (std::isalnum(static_cast<unsigned char>(*stop)) != 0)))
            continue;
        if (found && *found != number) return std::nullopt;
        found = number;
    }
    return found;
}

}  // namespace hpo::analysis::detail
