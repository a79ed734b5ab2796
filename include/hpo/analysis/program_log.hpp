// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/analysis/told_failure.hpp"

namespace hpo::analysis {

/// A line of Optuna's about the end of a trial: "[W 2026-01-31 12:00:00,123] Trial 7 failed with parameters: {...} because of the following
/// error: ...".
struct LogEvent {
    std::size_t line = 0;                      ///< counted from 1
    std::optional<std::int64_t> microseconds;  ///< since the epoch by the log's own clock, as if that were UTC
    std::int64_t trial = 0;
    TrialState state = TrialState::fail;  ///< that the line says
    std::optional<std::string> params;    ///< as Python shows a dictionary
    std::string error;                    ///< of a failed one
    std::string traceback;
};

/// What a program printed without the number of a trial: a traceback, an allocator's message, "Killed".
struct LogRemark {
    std::size_t line = 0;
    std::optional<std::int64_t> microseconds;
    std::size_t events_before = 0;
    bool process_died = false;
    Failure failure;
};

/// What a log holds.
struct ProgramLog {
    std::string name;
    std::size_t lines = 0;
    std::vector<LogEvent> events;
    std::vector<LogRemark> remarks;
};

namespace detail {

/// The line without the escape sequences of terminals.
[[nodiscard]] inline std::string without_escapes(std::string_view line) {
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

/// The first moment in a line, "2026-01-31 12:00:00,123" with space or T, as microseconds since the epoch if it were UTC.
[[nodiscard]] inline std::optional<std::int64_t> log_time(std::string_view line) {
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

/// Reads Optuna's words about the end of a trial, of any release since 1.0, wherever they stand in the line.
[[nodiscard]] inline std::optional<LogEvent> log_event(std::string_view line) {
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

/// The signal that a shell's words about a process name, "Killed" or "line 3: 712 Segmentation fault (core dumped) python x.py".
[[nodiscard]] inline std::optional<std::pair<int, std::string_view>> death_of_process(std::string_view line) {
    static constexpr std::array<std::pair<int, std::string_view>, 4> deaths{
        {{9, "Killed"}, {11, "Segmentation fault"}, {6, "Aborted"}, {7, "Bus error"}}};
    for (const auto& [signal, words] : deaths) {
        if (line == words || (line.starts_with(words) && line.substr(words.size()).starts_with(" (core dumped)")))
            return std::pair{signal, words};
        const auto at = line.find(words);
        if (at != std::string_view::npos && line.substr(0, at).find(": line ") != std::string_view::npos) return std::pair{signal, words};
    }
    return std::nullopt;
}

}  // namespace detail

/// Reads a program's log line by line: Optuna's lines about trials, tracebacks, out-of-memory messages, the death of the process. Memory is
/// kept for those alone.
class LogReader {
public:
    explicit LogReader(std::string name) { log_.name = std::move(name); }

    /// The next line, without its end. Progress bars leave carriage returns: each piece counts as part of the same line.
    void line(std::string_view text) {
        ++log_.lines;
        for (text = text.substr(0, longest_line);;) {
            const auto end = text.find('\r');
            if (end != 0 || text.empty()) piece(text.substr(0, end));
            if (end == std::string_view::npos) return;
            text.remove_prefix(end + 1);
            if (text.empty()) return;
        }
    }

    [[nodiscard]] ProgramLog finish() && {
        end_traceback();
        return std::move(log_);
    }

private:
    static constexpr std::size_t longest_line = std::size_t{1} << 20U;
    static constexpr std::size_t longest_traceback = std::size_t{1} << 18U;

    void piece(std::string_view raw) {
        std::string stripped;
        if (raw.find('\x1b') != std::string_view::npos) raw = stripped = detail::without_escapes(raw);
        const bool may_be_event = raw.find("rial") != std::string_view::npos;
        if (auto event = may_be_event ? detail::log_event(raw) : std::nullopt) {
            end_traceback();
            event->line = log_.lines;
            follows_failure_ = event->state == TrialState::fail;
            last_time_.reset();
            log_.events.push_back(std::move(*event));
            return;
        }
        if (may_be_event && raw.find(" failed with value ") != std::string_view::npos) return end_traceback();  // it says no more
        if (raw.find(traceback_heading) != std::string_view::npos && !(in_traceback_ && chain_)) {
            const bool behind_event = follows_failure_;
            end_traceback();
            in_traceback_ = true;
            of_event_ = behind_event;
            traceback_line_ = log_.lines;
            traceback_time_ = detail::log_time(raw);
            if (!traceback_time_) traceback_time_ = last_time_;
        }
        if (in_traceback_ && goes_on(raw)) {
            if (traceback_.size() < longest_traceback) traceback_.append(raw).append("\n");
            return;
        }
        end_traceback();
        follows_failure_ = false;
        last_time_ = detail::log_time(raw);
        remark(raw);
    }

    /// Whether a line still belongs to the traceback: frames, the exception with its message, and the chain.
    bool goes_on(std::string_view raw) {
        const bool heading = raw.find(traceback_heading) != std::string_view::npos;
        const bool link =
            raw.starts_with("During handling of the above exception") || raw.starts_with("The above exception was the direct cause");
        if (heading || link) {
            raised_ = false;
            blank_ = false;
            chain_ = link;
            return true;
        }
        if (raw.empty()) {
            blank_ = true;
            return true;
        }
        if (raw.front() == ' ' || raw.front() == '\t') return !blank_;
        if (!raised_) {
            raised_ = true;
            return true;
        }
        return !blank_ && !detail::log_time(raw.substr(0, 40));  // a message of several lines
    }

    void end_traceback() {
        if (in_traceback_) {
            while (traceback_.ends_with("\n\n")) traceback_.pop_back();
            if (of_event_) {
                log_.events.back().traceback = std::move(traceback_);
            } else if (auto failure = classify_exceptions(exceptions_in(traceback_))) {
                failure->traceback = std::move(traceback_);
                keep(std::move(*failure), traceback_line_, traceback_time_, false);
            }
        }
        traceback_.clear();
        in_traceback_ = raised_ = blank_ = chain_ = of_event_ = follows_failure_ = false;
    }

    void remark(std::string_view raw) {
        if (const auto death = detail::death_of_process(raw)) {
            Failure failure;
            failure.kind = FailureKind::crash;
            failure.signal = death->first;
            failure.message = "the process was ended: " + std::string{death->second};
            if (death->first == 9) failure.message += "; perhaps by the kernel's out-of-memory killer";
            keep(std::move(failure), log_.lines, last_time_, true);
            return;
        }
        if (!detail::may_tell_failure(raw) || raw.size() > 20000 || !detail::is_program_text(raw)) return;
        Failure failure = classify_python(raw);
        if (is_memory(failure.kind)) keep(std::move(failure), log_.lines, last_time_, false);
    }

    void keep(Failure failure, std::size_t line, std::optional<std::int64_t> microseconds, bool process_died) {
        log_.remarks.push_back({.line = line,
                                .microseconds = microseconds,
                                .events_before = log_.events.size(),
                                .process_died = process_died,
                                .failure = std::move(failure)});
    }

    ProgramLog log_;
    std::string traceback_;
    std::size_t traceback_line_ = 0;
    std::optional<std::int64_t> traceback_time_;
    std::optional<std::int64_t> last_time_;  ///< of the line before
    bool in_traceback_ = false;
    bool of_event_ = false;         ///< the traceback stands right behind the line about its trial
    bool follows_failure_ = false;  ///< so does the line to come
    bool raised_ = false;           ///< the exception's line has been read
    bool blank_ = false;            ///< an empty line came after it
    bool chain_ = false;            ///< the next heading belongs to the same chain
};

}  // namespace hpo::analysis
