// SPDX-License-Identifier: MIT
#include "hpo/analysis/logs/log_line.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "analysis/failure_cases/memory_words.hpp"
#include "analysis/failure_cases/predicted_oom.hpp"
#include "hpo/analysis/failure_cases/told_failure.hpp"
#include "hpo/analysis/logs/log_time.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/failure/message_families.hpp"
#include "hpo/failure/python_error.hpp"

namespace hpo::analysis::detail {

std::string without_escapes(std::string_view line) {
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

std::optional<std::string_view> without_stamp(std::string_view line, std::string_view stamp) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const auto fits = [&](char shown, char stamped) { return shown == stamped || (is_digit(shown) && is_digit(stamped)); };
    const std::size_t shared = std::min(line.size(), stamp.size());
    const bool is_cut = line.size() < stamp.size() && stamp.find_last_not_of(' ') >= line.size();  // blanks at the end may be missing
    if (is_cut || !std::equal(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(shared), stamp.begin(), fits)) return std::nullopt;
    return line.substr(shared);
}

/// True if a line may tell of an error behind this text: it ends with the word of a level or of a time zone, or with "failed with". Any
/// other word before an error makes it a metric, a setting, or a sentence.
[[nodiscard]] bool leads_to_error(std::string_view before) {
    const auto last = before.find_last_not_of(' ');
    if (last == std::string_view::npos || std::isalpha(static_cast<unsigned char>(before[last])) == 0) return true;
    before = before.substr(0, last + 1);
    for (const std::string_view verb : {"failed with", "crashed with", "failed due to", "aborted with"}) {
        if (before.ends_with(verb)) return true;
    }
    std::size_t begin = last + 1;
    while (begin > 0 && std::isalpha(static_cast<unsigned char>(before[begin - 1])) != 0) --begin;
    return one_of(before.substr(begin), {"INFO", "WARNING", "WARN", "DEBUG", "CRITICAL", "Z", "UTC"});
}

std::string_view logged_error(std::string_view line) {
    constexpr std::size_t furthest = 160;  // behind a time, a level and a logger's name
    const std::string lower = hpo::detail::lower_case(line.substr(0, furthest));
    auto at = lower.find("error");
    if (at == std::string::npos) at = lower.find("exception: ");
    if (at == std::string::npos) return {};
    std::size_t begin = at;  // of the word, which may be the name of an exception
    while (begin > 0 &&
           (std::isalnum(static_cast<unsigned char>(line[begin - 1])) != 0 || line[begin - 1] == '.' || line[begin - 1] == '_'))
        --begin;
    if (!leads_to_error(line.substr(0, begin))) return {};
    const std::size_t end = at + std::string_view{"error"}.size();
    if (begin < at || lower.compare(at, 9, "exception") == 0) {
        const auto exception = hpo::detail::exception_line(line.substr(begin));
        if (!exception || exception->message.empty()) return {};
    } else {  // a level
        const bool is_loud = line.substr(at, end - at) == "ERROR";
        const auto next = line.find_first_not_of(' ', end);
        if (next == std::string_view::npos || (!is_loud && std::string_view{":]-|"}.find(line[next]) == std::string_view::npos)) return {};
        if (next == end && std::isalnum(static_cast<unsigned char>(line[next])) != 0) return {};  // a longer word
        begin = std::min(line.find_first_not_of(" :]-|", end), line.size());
    }
    const std::string_view said = line.substr(begin);
    return letters_of(said).size() >= 2 ? said : std::string_view{};
}

/// The name of the source file that rich prints at the right edge is no part of the line: "... 'lr': 0.003}   _optimize.py:251".
[[nodiscard]] std::string_view without_source_column(std::string_view line) {
    const auto plain = line.substr(0, line.find_last_not_of(' ') + 1);
    const auto digits = plain.find_last_not_of("0123456789");
    constexpr std::string_view file = ".py:";
    if (digits == std::string_view::npos || digits + 1 == plain.size() || !plain.substr(0, digits + 1).ends_with(file)) return line;
    const auto name = plain.substr(0, digits + 1 - file.size()).find_last_not_of("abcdefghijklmnopqrstuvwxyz_");
    return name != std::string_view::npos && plain[name] == ' ' ? plain.substr(0, plain.find_last_not_of(' ', name) + 1) : line;
}

/// True if a bracket or a quoted text that begins in `text` does not end there.
[[nodiscard]] bool is_open(std::string_view text) {
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '\'' || c == '"') {
            for (++i; i < text.size() && text[i] != c; ++i) i += text[i] == '\\' ? 1 : 0;
            if (i >= text.size()) return true;
        } else if (c == '{' || c == '[' || c == '(') {
            ++depth;
        } else if (c == '}' || c == ']' || c == ')') {
            if (--depth == 0) return false;  // what stands behind is no part of it
        }
    }
    return depth > 0;
}

constexpr std::string_view failed_with = " failed with parameters:";
constexpr std::string_view because = "because of the following error:";

/// True if the text of an event is cut, so that the line goes on in the next. `rest` stands behind the trial's number.
[[nodiscard]] bool is_cut(std::string_view rest) {
    const auto cut_words = [](std::string_view shown, std::string_view words) {
        shown = shown.substr(0, shown.find_last_not_of(' ') + 1);
        return shown.size() < words.size() && words.starts_with(shown);
    };
    if (rest.starts_with(" finished with value")) {
        const auto params = rest.find("parameters: {");
        if (params != std::string_view::npos)
            return is_open(rest.substr(params)) || rest.substr(0, rest.find_last_not_of(' ') + 1).ends_with('}');
        const auto words = rest.find(" a", rest.find(':'));
        return words != std::string_view::npos && cut_words(rest.substr(words), " and parameters: {");
    }
    if (rest.starts_with(failed_with)) {
        const std::string_view params = rest.substr(failed_with.size());
        if (is_open(params) || params.find_first_not_of(' ') == std::string_view::npos) return true;
        const auto reason = params.find(" because ");
        if (reason == std::string_view::npos) return !params.ends_with('.');
        if (params.find(because) == std::string_view::npos) return cut_words(params.substr(reason), " because of the following error:");
    }
    const auto at = rest.find(because);
    if (at == std::string_view::npos) return false;
    std::string_view error = rest.substr(at + because.size());
    error.remove_prefix(std::min(error.find_first_not_of(' '), error.size()));
    const std::string_view behind = error.substr(hpo::detail::leading_dotted_name(error).size());
    return error.empty() || (behind.size() < error.size() && behind.starts_with('(') && is_open(behind));
}

/// The number of the trial whose end a line may tell, and what stands around it.
struct NumberedLine {
    std::string_view before;  ///< "Trial"
    std::int64_t number = 0;
    std::string_view rest;  ///< behind the number
};

/// Calls `use` with each number of a trial in the line, until it returns true.
template <class Use>
void each_numbered(std::string_view line, Use&& use) {
    for (const std::string_view before : {"Trial ", "trial#"}) {
        for (auto at = line.find(before); at != std::string_view::npos; at = line.find(before, at + 1)) {
            const std::string_view digits = line.substr(at + before.size());
            std::int64_t number = 0;
            const auto [stop, status] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
            if (status != std::errc{} || number < 0) continue;
            if (use(NumberedLine{
                    .before = line.substr(0, at), .number = number, .rest = digits.substr(static_cast<std::size_t>(stop - digits.data()))}))
                return;
        }
    }
}

bool is_cut_event(std::string_view line) {
    bool cut = false;
    each_numbered(without_source_column(line), [&](const NumberedLine& shown) { return cut = is_cut(shown.rest); });
    return cut;
}

std::optional<std::int64_t> failed_trial(std::string_view line) {
    std::optional<std::int64_t> trial;
    each_numbered(line, [&](const NumberedLine& shown) {
        if (shown.rest.starts_with(" failed with value ")) trial = shown.number;
        return trial.has_value();
    });
    return trial;
}

std::string joined_lines(std::span<const std::string> lines, bool at_any_character) {
    std::string whole;
    for (const std::string& line : lines) {
        std::string_view part = without_source_column(line);
        const bool indented = !whole.empty() && part.starts_with("    ");  // the columns of rich
        if (indented) part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
        if (indented || !at_any_character) {
            while (indented && whole.ends_with("  ")) whole.pop_back();
            if (!whole.empty() && !whole.ends_with(' ') && !part.starts_with(' ')) whole += ' ';
        }
        whole += part;
    }
    return whole;
}

/// Reads what stands behind a trial's number.
[[nodiscard]] std::optional<LogEvent> read_event(const NumberedLine& shown) {
    const std::string_view rest = shown.rest;
    LogEvent event{.microseconds = {}, .trial = shown.number, .params = {}, .error = {}, .traceback = {}};
    if (const auto time = last_log_time(shown.before)) event.microseconds = time->microseconds;
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
        const std::string_view text = rest.substr(std::string_view{" pruned."}.size());
        if (const auto begin = text.find_first_not_of(' '); begin != std::string_view::npos) event.error = text.substr(begin);
        return event;
    }
    const bool with_params = rest.starts_with(failed_with);
    if (!with_params && !rest.starts_with(" failed because ") && !rest.starts_with(" failed, because ") &&
        !rest.starts_with(" as TrialState.FAIL because "))
        return std::nullopt;
    const auto first = rest.find(because);
    const auto text = first != std::string_view::npos ? first + because.size() : rest.find("because ") + 8;
    if (rest.find("because ") == std::string_view::npos) return event;
    if (with_params && first != std::string_view::npos && first > failed_with.size() + 1)
        event.params = std::string{rest.substr(failed_with.size() + 1, first - failed_with.size() - 2)};
    event.error = rest.substr(std::min(rest.find_first_not_of(' ', text), rest.size()));
    if (event.error.ends_with('.')) event.error.pop_back();
    return event;
}

std::optional<LogEvent> log_event(std::string_view line) {
    std::optional<LogEvent> event;
    each_numbered(without_source_column(line), [&](const NumberedLine& shown) { return (event = read_event(shown)).has_value(); });
    return event;
}

/// The rest of a shell's message about a process, after ": line 3:   712 ". Returns nullopt if the line is not such a message.
[[nodiscard]] std::optional<std::string_view> after_process_number(std::string_view line) {
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

std::optional<std::pair<int, std::string_view>> death_of_process(std::string_view line) {
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

bool names_other_program(std::string_view line) {
    const std::string plain = hpo::detail::searchable(line);
    for (const std::string_view before : {"process # (", "process # \"", "uid # \""}) {
        const std::string_view literal = hpo::detail::literal_of(before);
        for (auto at = plain.find(literal); at != std::string_view::npos; at = plain.find(literal, at + 1)) {
            const auto begin = hpo::detail::end_of_match(plain, at, before);
            if (begin == std::string_view::npos) continue;
            const std::string_view name = std::string_view{plain}.substr(begin);
            return !name.starts_with("python") && !name.starts_with("pt_") && !name.starts_with("ray::") && !name.starts_with("ipykernel");
        }
    }
    return false;
}

std::optional<Failure> killed_process(std::string_view line) {
    if (!hpo::detail::mentions_any(
            line, {"ignal", "SIG", "xit code", "xit Code", "xitcode", "xitCode",   "xit status", "exited with", "eturn code", "eturncode",
                   "illed", "OOM", "oom",      "emory",    "MEM",     "bad_alloc", "vmem",       "_rss",        "rror 137",   "OUT_OF_ME"}))
        return std::nullopt;
    const std::string plain = hpo::detail::searchable(line);
    const auto mentions = [&](std::string_view word) { return hpo::detail::contains_phrase(plain, word); };
    const bool is_event = mentions("oom-kill event") || mentions("oom_kill event");  // "Some of your processes may have been killed"
    if (!is_event && std::ranges::any_of(Phrases{"~if~", "~may~", "~might~", "~could~", "~can~", "~would~"}, mentions))
        return std::nullopt;  // advice
    const auto part = find_telling_part({}, line);
    constexpr int terminated = 15;
    if (!part || !part->family) return std::nullopt;
    const bool ended_for_memory = part->kind == FailureKind::host_out_of_memory && part->family->ends_process;
    const bool ended_by_signal = part->kind == FailureKind::crash && part->family->signal && part->family->signal != terminated;
    if ((!ended_for_memory && !ended_by_signal) || names_other_program(line)) return std::nullopt;
    return classify_text({.type = {}, .message = part->line});
}

std::optional<std::int64_t> process_named(std::string_view line) {
    const std::string lower = hpo::detail::lower_case(line);
    for (const std::string_view before : {"(pid: ", "(pid ", " pid: ", " pid "}) {
        if (const auto number = hpo::detail::number_after(lower, before)) return number;
    }
    return std::nullopt;
}

std::optional<std::int64_t> named_trial(std::string_view line) {
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
