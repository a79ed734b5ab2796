// SPDX-License-Identifier: MIT
#include "hpo/analysis/logs/log_match.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <range/v3/view/zip.hpp>

#include "analysis/failure_cases/memory_words.hpp"
#include "analysis/failure_cases/predicted_oom.hpp"
#include "analysis/silent_failures/running_trials.hpp"
#include "hpo/analysis/failure_cases/failure_case.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/failure/message_family.hpp"

namespace hpo::analysis::detail {

/// A wrapped line may have lost blanks, and gained others. So texts are compared without them.
[[nodiscard]] std::string without_blanks(std::string_view text) {
    std::string plain{text};
    std::erase(plain, ' ');
    return plain;
}

/// True if `text` begins with Python's representation of the value. The text has no blanks.
[[nodiscard]] bool shows_value(std::string_view text, const Value& value) {
    const auto is_word = [&](std::string_view word) { return text.substr(0, text.find_first_of(",}")) == word; };
    if (const auto* truth = std::get_if<bool>(&value)) return is_word(*truth ? "True" : "False");
    if (const auto* words = std::get_if<std::string>(&value)) return hpo::detail::python_text(text) == without_blanks(*words);
    std::optional<double> number;
    if (const auto* real = std::get_if<double>(&value)) number = *real;
    if (const auto* whole = std::get_if<std::int64_t>(&value)) number = static_cast<double>(*whole);
    if (!number) return is_word("None");
    double shown = 0;
    const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), shown);
    return status == std::errc{} && (shown == *number || std::abs(shown - *number) <= 1e-12 * std::abs(*number));
}

/// The number of members in a dictionary that Python printed.
[[nodiscard]] std::size_t shown_members(std::string_view shown) {
    std::size_t members = 0;
    int depth = 0;
    for (std::size_t i = 0; i < shown.size(); ++i) {
        const char c = shown[i];
        if (c == '\'' || c == '"') {
            for (++i; i < shown.size() && shown[i] != c; ++i) i += shown[i] == '\\' ? 1 : 0;
        } else if (c == '{' || c == '[' || c == '(') {
            ++depth;
        } else if (c == '}' || c == ']' || c == ')') {
            --depth;
        } else if (c == ':' && depth == 1) {
            ++members;
        }
    }
    return members;
}

bool shows_params(std::string_view shown, const ParamSet& params) {
    if (params.empty()) return shown == "{}";
    if (shown_members(shown) != params.size()) return false;
    const std::string plain = without_blanks(shown);
    return std::ranges::all_of(params, [&](const Param& param) {
        if (param.name.find_first_of("'\"\\") != std::string::npos) return true;
        const std::string quoted = "'" + without_blanks(param.name) + "':";
        const auto at = plain.find(quoted);
        return at != std::string::npos && shows_value(std::string_view{plain}.substr(at + quoted.size()), param.value());
    });
}

constexpr std::int64_t quarter_hour = std::int64_t{900} * 1'000'000;
constexpr std::int64_t most_quarters = 60;      ///< a time zone is at most so far from another
constexpr std::int64_t early_line = 1'000'000;  ///< microseconds by which a line may seem to come before the moment that it tells of
constexpr std::int64_t late_line = 10'000'000;  ///< and after it

/// By how many quarters of an hour the log's clock is ahead at an event, and how late the line is beyond that.
struct ClockReading {
    std::int64_t quarters = 0;
    std::int64_t late = 0;  ///< microseconds
};

/// Compares an event with the end of a trial. The line is written right after that end, and time zones are whole quarters of an hour.
/// Returns nullopt if the times do not fit.
[[nodiscard]] std::optional<ClockReading> read_clock(const LogEvent& event, const Trial& trial) {
    if (!event.microseconds || !trial.completed) return std::nullopt;
    const std::int64_t apart = *event.microseconds - microseconds_since_epoch(*trial.completed);
    ClockReading reading;
    reading.quarters = static_cast<std::int64_t>(std::floor(static_cast<double>(apart + early_line) / static_cast<double>(quarter_hour)));
    reading.late = apart - reading.quarters * quarter_hour;
    if (reading.late > late_line || std::abs(reading.quarters) > most_quarters) return std::nullopt;
    return reading;
}

struct EventTrial {
    const Trial* trial = nullptr;  ///< null: no trial of the study
    std::optional<ClockReading> clock;
    bool params_agree = false;  ///< the trial has parameters, and the line shows them
};

[[nodiscard]] std::string lines_text(const ProgramLog& log, std::size_t first, std::size_t last) {
    return log.name +
           (first == last ? ", line " + std::to_string(first) : ", lines " + std::to_string(first) + " to " + std::to_string(last));
}

Failure failure_of(const LogEvent& event) {
    Failure failure = predicts_oom(event.error) ? refused_by_program(event.error) : classify_python(event.error);
    const auto chain = exceptions_in(event.traceback);
    if (auto raised = classify_exceptions(chain); raised && may_hide_cause(failure.kind)) {
        // The traceback has the qualified type, and the causes that the last exception hides.
        if (!may_hide_cause(raised->kind) || failure.message.empty()) failure = std::move(*raised);
        else if (!raised->type.empty()) failure.type = raised->type;
    } else if (raised && raised->kind == failure.kind && raised->requested_bytes && !failure.requested_bytes) {
        failure = std::move(*raised);  // "Caught OutOfMemoryError in replica 1", and its figures in the worker's traceback
    }
    // A loader's thread asks CUDA for pinned memory of the host.
    if (failure.kind == FailureKind::out_of_memory && event.error.find("in pin memory thread") != std::string::npos)
        failure.kind = FailureKind::host_out_of_memory;
    failure.traceback = event.traceback;
    if (event.state == TrialState::pruned) take_memory_words(failure, event.error);
    return failure;
}

/// How often lines tell each number of quarters of an hour by which the log's clock is ahead. An end of a trial whose parameters agree has
/// two votes. A line of the program's own has one for each number with which its trial ran then.
using ClockVotes = std::map<std::int64_t, std::size_t>;

/// The number that most lines tell. Nullopt if there are less than two votes, because a single line may fit by chance. If several numbers
/// have as many, it is 0 if that is one of them: most logs are in the time of the store.
[[nodiscard]] std::optional<std::int64_t> usual_clock(const ClockVotes& votes) {
    const auto most = std::ranges::max_element(votes, {}, [](const auto& vote) { return std::pair{vote.second, -std::abs(vote.first)}; });
    if (most == votes.end() || most->second < 2) return std::nullopt;
    const bool is_clear = std::ranges::count(votes, most->second, [](const auto& vote) { return vote.second; }) == 1;
    return is_clear || most->first == 0 ? std::optional{most->first} : std::nullopt;
}

/// Finds the trial of each event that has the same number, state and parameters.
[[nodiscard]] std::vector<EventTrial> possible_trials(const ProgramLog& log, std::span<const Trial> trials, ClockVotes& votes) {
    std::map<std::int64_t, const Trial*> by_number;
    for (const Trial& trial : trials) by_number.emplace(trial.number, &trial);
    std::vector<EventTrial> found(log.events.size());
    for (auto&& [event, match] : ranges::views::zip(log.events, found)) {
        const auto trial = by_number.find(event.trial);
        if (trial == by_number.end() || trial->second->state != event.state) continue;
        if (event.params && !shows_params(*event.params, trial->second->params)) continue;
        match.trial = trial->second;
        match.clock = read_clock(event, *trial->second);
        match.params_agree = event.params && !trial->second->params.empty();
        if (event.microseconds && trial->second->completed && !match.clock) match.trial = nullptr;
        if (match.trial && match.clock) votes[match.clock->quarters] += match.params_agree ? 2 : 1;
    }
    return found;
}

/// Gives events that show neither a time nor parameters their trial if their place in the log leaves no doubt: no other line has the
/// number, and the lines around it, which are surely of the study, have numbers on either side. `possible` are trials of the same number
/// and state.
void keep_in_place(const ProgramLog& log, std::vector<EventTrial>& found, const std::vector<const Trial*>& possible) {
    const std::vector<EventTrial> sure = found;
    const auto is_sure = [](const EventTrial& event) { return event.trial != nullptr; };
    if (std::ranges::count_if(sure, is_sure) < 2) return;
    std::map<std::int64_t, std::size_t> times;
    for (const LogEvent& event : log.events) ++times[event.trial];
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (found[i].trial || !possible[i] || times[possible[i]->number] > 1) continue;
        const auto here = sure.begin() + static_cast<std::ptrdiff_t>(i);
        const auto after = std::find_if(here, sure.end(), is_sure);
        const auto before = std::find_if(std::make_reverse_iterator(here), sure.rend(), is_sure);
        const bool follows = before == sure.rend() || before->trial->number < possible[i]->number;
        const bool precedes = after == sure.end() || after->trial->number > possible[i]->number;
        if (follows && precedes) found[i].trial = possible[i];
    }
}

/// Leaves out what fits by number, state and time alone where lines of the study's time do not fit about as often. Such a log is of another
/// study that ran at that time. A line stays that is as close to the end of its trial as those whose parameters agree.
void leave_out_chance(const ProgramLog& log, std::vector<EventTrial>& found, std::span<const Trial> trials, std::int64_t usual) {
    std::int64_t begin = INT64_MAX;
    std::int64_t end = INT64_MIN;
    for (const Trial& trial : trials) {
        if (trial.started) begin = std::min(begin, microseconds_since_epoch(*trial.started));
        if (trial.completed) end = std::max(end, microseconds_since_epoch(*trial.completed) + late_line);
    }
    std::size_t by_time_alone = 0;
    std::size_t others = 0;
    // How late lines are that are surely of the study. Another's line is hardly ever as close to the end of a trial of its number.
    constexpr std::size_t enough = 3;
    std::vector<std::int64_t> sure;
    for (const EventTrial& match : found) {
        if (match.trial && match.clock && match.params_agree) sure.push_back(std::abs(match.clock->late));
    }
    const std::int64_t close = sure.size() < enough ? -1 : 2 * *std::ranges::max_element(sure) + 100'000;
    const auto is_close = [&](const EventTrial& match) { return match.clock && std::abs(match.clock->late) <= close; };
    for (auto&& [event, match] : ranges::views::zip(log.events, found)) {
        if (!event.microseconds || (match.trial && (match.params_agree || is_close(match)))) continue;
        const std::int64_t time = *event.microseconds - usual * quarter_hour;
        if (match.trial) ++by_time_alone;
        else if (time >= begin && time <= end) ++others;
    }
    if (2 * others <= by_time_alone) return;
    for (EventTrial& match : found) {
        if (match.trial && match.clock && !match.params_agree && !is_close(match)) match.trial = nullptr;
    }
}

/// Keeps the trials that ended at the time of the line by the log's clock. If an event shows no parameters, its time decides.
void keep_timely(const ProgramLog& log, std::vector<EventTrial>& found, std::span<const Trial> trials, std::optional<std::int64_t> usual) {
    std::map<std::int64_t, std::size_t> first_of;
    std::vector<const Trial*> in_place(found.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (!found[i].trial) continue;
        if (!log.events[i].microseconds && !log.events[i].params) in_place[i] = found[i].trial;
        const auto& clock = found[i].clock;
        const bool by_time = clock && usual && clock->quarters == *usual;
        // Summer time may begin within a log. Then the parameters must agree.
        const bool shifted = clock && usual && std::abs(clock->quarters - *usual) == 4 && found[i].params_agree;
        const bool timeless = !clock && found[i].params_agree;
        if (!by_time && !shifted && !timeless) {
            found[i].trial = nullptr;
            continue;
        }
        const auto [first, fresh] = first_of.emplace(log.events[i].trial, i);
        EventTrial& other = found[first->second];
        if (fresh || log.events[first->second].error == log.events[i].error) continue;  // a repeated line counts once
        if (!clock || !other.clock) {
            found[i].trial = other.trial = nullptr;  // two runs have such a line, and no time decides between them
        } else if (std::abs(other.clock->late) <= std::abs(clock->late)) {
            found[i].trial = nullptr;
        } else {
            other.trial = nullptr;
            first->second = i;
        }
    }
    if (usual) leave_out_chance(log, found, trials, *usual);
    keep_in_place(log, found, in_place);
}

/// True if a line of this time, by the store's clock, was written while the trial ran.
[[nodiscard]] bool ran_at(const Trial& trial, std::int64_t time) {
    return trial.started && time >= microseconds_since_epoch(*trial.started) - early_line &&
           (!trial.completed || time <= microseconds_since_epoch(*trial.completed) + late_line);
}

/// For each line that shows parameters, the trials that have them.
using ShownLines = std::vector<std::vector<const Trial*>>;

[[nodiscard]] ShownLines trials_shown(const ProgramLog& log, std::span<const Trial> trials, ClockVotes& votes) {
    ShownLines found;
    if (log.shown.empty()) return found;
    const ShownTrials shown{trials};
    for (const ShownParams& line : log.shown) {
        found.push_back(shown.in(line.text));
        if (found.back().size() != 1 || !line.time || !found.back().front()->started) continue;
        for (std::int64_t quarters = -most_quarters; quarters <= most_quarters; ++quarters) {
            if (ran_at(*found.back().front(), line.time->microseconds - quarters * quarter_hour)) ++votes[quarters];
        }
    }
    return found;
}

/// The trial that each such line belongs to: the only one with these parameters that ran at its time. Null where that is not known.
[[nodiscard]] std::vector<const Trial*> trials_of_shown(const ProgramLog& log, const ShownLines& shown, std::optional<std::int64_t> usual) {
    std::vector<const Trial*> found(shown.size());
    for (auto&& [line, trials, own] : ranges::views::zip(log.shown, shown, found)) {
        if (!line.time || !usual) continue;
        const std::int64_t time = line.time->microseconds - *usual * quarter_hour;
        const auto ran = [time](const Trial* trial) { return ran_at(*trial, time); };
        if (std::ranges::count_if(trials, ran) == 1) own = *std::ranges::find_if(trials, ran);
    }
    return found;
}

/// True if of the trials whose parameters a log shows each ended before the next began: the log is that of one process at a time.
[[nodiscard]] bool ran_in_turn(const std::vector<const Trial*>& shown) {
    const Trial* before = nullptr;
    for (const Trial* trial : shown) {
        if (!trial || trial == before) continue;
        if (before && (!before->completed || *before->completed > *trial->started)) return false;
        before = trial;
    }
    return true;
}

/// What the lines of a log belong to.
struct LogTrials {
    std::vector<EventTrial> events;
    std::vector<const Trial*> shown;
    bool in_turn = true;                ///< ran_in_turn
    std::optional<std::int64_t> usual;  ///< quarters of an hour by which its clock is ahead
};

[[nodiscard]] LogTrials trials_of_lines(const ProgramLog& log, std::span<const Trial> trials) {
    LogTrials lines;
    ClockVotes votes;
    lines.events = possible_trials(log, trials, votes);
    const ShownLines shown = trials_shown(log, trials, votes);
    lines.usual = usual_clock(votes);
    keep_timely(log, lines.events, trials, lines.usual);
    lines.shown = trials_of_shown(log, shown, lines.usual);
    lines.in_turn = ran_in_turn(lines.shown);
    return lines;
}

/// The trials that may have printed a remark.
struct RemarkTrials {
    explicit RemarkTrials(std::span<const Trial> trials)
        : all{trials, [](const Trial&) { return true; }}, ended_badly{trials, [](const Trial& trial) {
                                                                          return trial.state != TrialState::complete &&
                                                                                 trial.state != TrialState::pruned;
                                                                      }} {
        for (const Trial& trial : trials) {
            if (trial.started) by_number.emplace(trial.number, &trial);
        }
    }
    /// The trial of this number. null if there is none, or if it has not begun.
    [[nodiscard]] const Trial* numbered(std::int64_t number) const {
        const auto found = by_number.find(number);
        return found == by_number.end() ? nullptr : found->second;
    }
    std::map<std::int64_t, const Trial*> by_number;
    RunningTrials all;
    RunningTrials ended_badly;  ///< also trials that did not end, because their process died
    bool of_study = true;       ///< the log belongs to the study
};

/// Whether the log belongs to the study: a line about the end of a trial does. If it has no such line, each trial that it names must exist.
[[nodiscard]] bool is_of_study(const ProgramLog& log, const std::vector<EventTrial>& events, const RemarkTrials& trials) {
    if (!events.empty()) return std::ranges::any_of(events, [](const EventTrial& event) { return event.trial; });
    return std::ranges::all_of(log.remarks,
                               [&](const LogRemark& remark) { return !remark.trial || trials.numbered(*remark.trial) != nullptr; });
}

/// Whether a remark's own time fits its place in the log. Another logger may have a clock of its own. Then only the place counts.
[[nodiscard]] bool has_time_of_place(const LogRemark& remark, const ProgramLog& log) {
    constexpr std::int64_t close = 2'000'000;
    if (!remark.time) return false;
    const std::size_t next = remark.events_before;
    const std::int64_t time = remark.time->microseconds;
    if (next > 0 && log.events[next - 1].microseconds && time < *log.events[next - 1].microseconds - close) return false;
    return next == log.events.size() || !log.events[next].microseconds || time <= *log.events[next].microseconds + close;
}

/// When a remark was printed, by the store's clock, both ends included.
struct RemarkTime {
    std::int64_t from = INT64_MIN;
    std::int64_t to = INT64_MAX;
};

/// The time of a remark by what stands before and behind it in the log, and by its own time. Nullopt if that is not known.
[[nodiscard]] std::optional<RemarkTime> time_of_remark(const LogRemark& remark, const ProgramLog& log, const LogTrials& lines) {
    RemarkTime printed;
    bool is_known = true;
    const std::size_t next = remark.events_before;
    if (next > 0) {
        const Trial* const before = lines.events[next - 1].trial;
        if (before && before->completed) printed.from = microseconds_since_epoch(*before->completed);
        else is_known = false;
    }
    if (next < lines.events.size()) {
        const Trial* const after = lines.events[next].trial;
        if (after && after->completed) printed.to = microseconds_since_epoch(*after->completed) - 1;
        else is_known = false;
    } else if (!remark.process_died) {
        is_known = false;  // the log ends here, so any later trial may have printed it
    }
    if (!has_time_of_place(remark, log)) return is_known ? std::optional{printed} : std::nullopt;
    if (!lines.usual) return std::nullopt;
    const std::int64_t own = remark.time->microseconds - *lines.usual * quarter_hour;
    printed.from = std::max(printed.from, own);
    printed.to = std::min(printed.to, own + remark.time->precision - 1);
    return printed.from <= printed.to ? std::optional{printed} : std::optional{RemarkTime{own, own + remark.time->precision - 1}};
}

/// The trial whose parameters the log showed last before a remark. Null if the trials of the log did not run one after the other, or if the
/// trial did not run when the remark was printed.
[[nodiscard]] const Trial* trial_shown_before(const LogRemark& remark, const LogTrials& lines) {
    if (remark.shown_before == 0 || !lines.in_turn || !remark.time || !lines.usual) return nullptr;
    const Trial* const shown = lines.shown[remark.shown_before - 1];
    const std::int64_t time = remark.time->microseconds - *lines.usual * quarter_hour;
    const bool has_ended = shown && shown->completed && time > microseconds_since_epoch(*shown->completed);
    return shown && !has_ended && ran_at(*shown, time) ? shown : nullptr;
}

/// The trial whose number a remark names. A log may have lines of several studies, so a line about the end of a trial of this number that
/// stands near decides: the next one, or else the one directly before. Null if the trial did not run at the remark's own time.
[[nodiscard]] const Trial* numbered_trial(const LogRemark& remark, const ProgramLog& log, const LogTrials& lines,
                                          const RemarkTrials& trials) {
    const auto has_number = [&](const LogEvent& event) { return event.trial == *remark.trial; };
    const auto next = log.events.begin() + static_cast<std::ptrdiff_t>(remark.events_before);
    const auto end = std::find_if(next, log.events.end(), has_number);
    const bool is_behind_its_end = next != log.events.begin() && has_number(*std::prev(next)) && end != next;
    if (is_behind_its_end) return lines.events[remark.events_before - 1].trial;
    if (end != log.events.end()) return lines.events[static_cast<std::size_t>(end - log.events.begin())].trial;
    const Trial* const trial = trials.numbered(*remark.trial);
    const bool is_timed = trial && remark.time && lines.usual && trial->started;
    if (is_timed && !ran_at(*trial, remark.time->microseconds - *lines.usual * quarter_hour)) return nullptr;
    return trial;
}

/// The only trial that ran when a remark was printed. null if it is not known.
[[nodiscard]] const Trial* trial_of_remark(const LogRemark& remark, const ProgramLog& log, const LogTrials& lines,
                                           const RemarkTrials& trials) {
    if (remark.of_event) return lines.events[*remark.of_event].trial;
    if (remark.doubtful) return nullptr;
    if (remark.trial) return trials.of_study ? numbered_trial(remark, log, lines, trials) : nullptr;
    if (remark.shown_before > 0 && log.shown[remark.shown_before - 1].line == remark.line) {  // it shows the trial's parameters itself
        if (const Trial* const shown = lines.shown[remark.shown_before - 1]) return shown;
    }
    const auto printed = time_of_remark(remark, log, lines);
    if (!printed) return trial_shown_before(remark, lines);
    if (remark.process_died) {
        if (const Trial* const ended_badly = trials.ended_badly.only_one(printed->from, printed->to)) return ended_badly;
        // A process that the trial started was killed, and the program returned a value that is none.
        const Trial* const only = trials.all.only_one(printed->from, printed->to);
        if (only && only->state == TrialState::complete && !has_finite_values(*only)) return only;
        // Words about host memory count of a trial that went on, too. At the end of a log a later trial may have printed them.
        const bool is_enclosed = remark.events_before < log.events.size() || has_time_of_place(remark, log);
        return remark.failure.kind == FailureKind::host_out_of_memory && is_enclosed ? only : nullptr;
    }
    const Trial* const only = trials.all.only_one(printed->from, printed->to);
    return only ? only : trial_shown_before(remark, lines);
}

/// How much of its reason an error names.
enum class OwnReason {
    none,  ///< it says that a process ended, or that something failed: "Command 'train.py' returned non-zero exit status 1"
    some,  ///< it is an exception of the program's own, which may follow from another error
    whole  ///< it explains itself
};

/// True for an error that says that another process ended.
[[nodiscard]] bool tells_of_process(std::string_view type, std::string_view lower) {
    static constexpr auto types =
        std::to_array<std::string_view>({"CalledProcessError", "ChildFailedError", "ProcessExitedException", "ProcessRaisedException",
                                         "BrokenProcessPool", "TerminatedWorkerError", "SystemExit", "TaskFailedException"});
    static constexpr Phrases words{"~exit status~",   "~exit code~",  "~exitcode~", "~returncode~", "~return code~",
                                   "~exited with~",   "~ended with~", "~nonzero~",  "~non-zero~",   "~status code~",
                                   "~child process~", "~subprocess~", "~rc=",       "~returned 1~", "~failed with code~"};
    return std::ranges::any_of(types, [type](std::string_view name) { return type.ends_with(name); }) ||
           std::ranges::any_of(words, [lower](std::string_view phrase) { return hpo::detail::contains_phrase(lower, phrase); });
}

/// True for a text that says that something failed, and neither what nor why: "training failed", "see log".
[[nodiscard]] bool says_only_that_it_failed(std::string_view lower) {
    static constexpr auto general =
        std::to_array<std::string_view>({"fail",     "failed",     "failure",   "error",        "errors",
                                         "crash",    "crashed",    "aborted",   "abort",        "died",
                                         "ended",    "exited",     "stopped",   "unsuccessful", "unsuccessfully",
                                         "wrong",    "went",       "something", "unexpected",   "unexpectedly",
                                         "unknown",  "training",   "train",     "trainer",      "trial",
                                         "run",      "job",        "model",     "experiment",   "script",
                                         "worker",   "process",    "child",     "objective",    "command",
                                         "program",  "evaluation", "fit",       "fold",         "see",
                                         "check",    "log",        "logs",      "output",       "above",
                                         "the",      "in",         "of",        "for",          "with",
                                         "at",       "to",         "during",    "while",        "was",
                                         "has",      "did",        "could",     "not",          "be",
                                         "complete", "completed",  "finish",    "finished",     "py",
                                         "this",     "an",         "and",       "details"});
    return std::ranges::all_of(letters_of(lower), [](std::string_view word) { return std::ranges::find(general, word) != general.end(); });
}

[[nodiscard]] OwnReason own_reason(const Failure& failure) {
    if (failure.kind == FailureKind::crash) return OwnReason::none;
    if (failure.kind != FailureKind::trainer_error) return OwnReason::whole;
    std::string_view type = failure.type;
    type = type.substr(type.rfind('.') + 1);
    std::string lower = hpo::detail::searchable(failure.message);
    if (tells_of_process(type, lower)) return OwnReason::none;
    // What Python raises for a mistake in a program.
    static constexpr auto mistakes = std::to_array<std::string_view>(
        {"KeyError",          "IndexError",          "TypeError",           "AttributeError",     "NameError",         "UnboundLocalError",
         "ZeroDivisionError", "AssertionError",      "NotImplementedError", "RecursionError",     "OverflowError",     "SyntaxError",
         "ImportError",       "ModuleNotFoundError", "UnicodeDecodeError",  "UnicodeEncodeError", "JSONDecodeError",   "KeyboardInterrupt",
         "FileNotFoundError", "FileExistsError",     "PermissionError",     "IsADirectoryError",  "NotADirectoryError"});
    if (std::ranges::find(mistakes, type) != mistakes.end()) return OwnReason::whole;
    // The type may stand before a message, and the place behind it if there is no message.
    if (!type.empty() && lower.starts_with(hpo::detail::lower_case(failure.type))) {
        lower.erase(0, failure.type.size());
        if (lower.starts_with(" at ")) lower.clear();
    }
    return says_only_that_it_failed(lower) ? OwnReason::none : OwnReason::some;
}

/// True if a line says that the program went on behind an error.
[[nodiscard]] bool says_went_on(std::string_view line) {
    static constexpr Phrases words{"skip",  "retry",   "retries", "halv",      "reduc",        "decreas",
                                   "lower", "continu", "again",   "fall back", "falling back", "instead"};
    const std::string lower = hpo::detail::lower_case(line);
    return std::ranges::any_of(words, [&](std::string_view phrase) { return hpo::detail::contains_phrase(lower, phrase); });
}

/// Whether a remark tells why a trial failed of which Optuna's line names another error.
enum class TellsWhy { no, perhaps, yes };

/// The line about the end of a failed trial that follows a remark in the log, or that the remark is a part of. Null if there is none.
[[nodiscard]] const LogEvent* end_behind(const LogRemark& remark, const Trial& trial, const ProgramLog& log, const LogTrials& lines) {
    const auto own = std::find_if(lines.events.begin() + static_cast<std::ptrdiff_t>(remark.of_event.value_or(remark.events_before)),
                                  lines.events.end(), [&](const EventTrial& event) { return event.trial == &trial; });
    if (own == lines.events.end()) return nullptr;
    const LogEvent& event = log.events[static_cast<std::size_t>(own - lines.events.begin())];
    return event.state == TrialState::fail ? &event : nullptr;
}

/// A program that starts its training as another process, or that raises an exception of its own, hides the error that the training met.
/// That error stands directly before Optuna's line. So it does if no other error stands between, and if the program did not go on.
[[nodiscard]] TellsWhy tells_why(const LogRemark& remark, const LogEvent& end, const ProgramLog& log, const Failure& named) {
    const OwnReason reason = own_reason(named);
    if (remark.own_words) return TellsWhy::no;
    if (reason == OwnReason::whole) return remark.failure.traceback.empty() ? TellsWhy::no : TellsWhy::perhaps;
    if (remark.of_event) return reason == OwnReason::none ? TellsWhy::yes : TellsWhy::perhaps;
    for (const LogRemark* other = &remark + 1; other != log.remarks.data() + log.remarks.size() && other->line < end.line; ++other) {
        if (!ran_out_of_memory(other->failure.kind) && own_reason(other->failure) != OwnReason::none) return TellsWhy::perhaps;
    }
    constexpr std::size_t near_lines = 60;  // torchrun's and a tracker's last words stand between
    const std::size_t apart = end.line - remark.last_line;
    const bool ends_process = !remark.failure.traceback.empty() || remark.process_died;
    if (reason == OwnReason::some) return ends_process && apart == 1 ? TellsWhy::yes : TellsWhy::perhaps;
    return apart <= near_lines && (ends_process || !says_went_on(remark.failure.message)) ? TellsWhy::yes : TellsWhy::perhaps;
}

/// Adds what a remark says about a trial. Of a trial that is complete or pruned, only memory, the device and a killed process count: the
/// program caught the error. So it is with an error in the program's own words. A message about memory says more than Optuna's own line
/// about a value that is not acceptable, and less than the error that Optuna names, unless that hides its reason. An error in the program's
/// own words says more than that line, too. Returns false if the remark may be the reason that Optuna's line hides.
[[nodiscard]] bool tell(ToldFailures& told, const Trial& trial, const LogRemark& remark, std::string place, const ProgramLog& log,
                        const LogTrials& lines) {
    const FailureKind kind = remark.failure.kind;
    if (kind == FailureKind::predicted_oom && trial.state != TrialState::pruned && trial.state != TrialState::fail) return true;
    const bool went_on = trial.state == TrialState::complete || trial.state == TrialState::pruned;
    const bool killed = was_killed(remark.failure);
    if (went_on && !killed && !is_memory(kind) && !(trial.state == TrialState::pruned && is_device(kind))) return true;
    ToldFailure failure{.failure = remark.failure, .place = std::move(place)};
    const auto [known, is_new] = told.emplace(trial.number, failure);
    if (is_new) return true;
    const Failure& before = known->second.failure;
    const bool ran_out = ran_out_of_memory(kind);
    const bool says_more = ran_out || killed || remark.own_words;
    const bool has_figures = before.kind == kind && !before.requested_bytes && remark.failure.requested_bytes;
    const bool shows_killer = was_killed(before) && kind == FailureKind::host_out_of_memory;
    const bool came_true = before.kind == FailureKind::predicted_oom && ran_out;
    const bool in_question = (ran_out || killed) && !ran_out_of_memory(before.kind) && !(killed && was_killed(before)) && !shows_killer;
    const LogEvent* const end = in_question ? end_behind(remark, trial, log, lines) : nullptr;
    const TellsWhy why = end ? tells_why(remark, *end, log, before) : TellsWhy::no;
    if (why == TellsWhy::yes && !remark.of_event)
        failure.place += "; the trial then failed with " + (before.type.empty() ? before.message : before.type);
    if (has_figures || shows_killer || came_true || why == TellsWhy::yes || (says_more && before.kind == FailureKind::non_finite))
        known->second = std::move(failure);
    return why != TellsWhy::perhaps;
}

/// True if the program went on behind an out-of-memory, until another error ended the trial: that one explains itself, and was written long
/// after. `trials` are those of the remarks.
[[nodiscard]] bool went_on_behind(std::size_t place, const ProgramLog& log, const std::vector<const Trial*>& trials) {
    constexpr std::int64_t long_after = 10'000'000;  // microseconds; what an error takes down ends sooner
    const LogRemark& remark = log.remarks[place];
    const Trial* const trial = trials[place];
    if (!trial || trial->state != TrialState::fail || !ran_out_of_memory(remark.failure.kind) || remark.of_event || !remark.time)
        return false;
    for (std::size_t i = place + 1; i < log.remarks.size(); ++i) {
        const LogRemark& other = log.remarks[i];
        if (trials[i] != trial || !other.time || ran_out_of_memory(other.failure.kind) || own_reason(other.failure) == OwnReason::none)
            continue;
        if (other.time->microseconds - remark.time->microseconds >= long_after) return true;
    }
    return false;
}

bool tells_failure(const LogEvent& event, const Failure& failure) {
    return event.state == TrialState::fail || (event.state == TrialState::pruned && (is_memory(failure.kind) || is_device(failure.kind)));
}

}  // namespace hpo::analysis::detail

namespace hpo::analysis {

void match_log(const ProgramLog& log, std::span<const Trial> trials, LogMatch& match) {
    const detail::LogTrials lines = detail::trials_of_lines(log, trials);
    const std::vector<detail::EventTrial>& found = lines.events;
    match.matched_shown +=
        static_cast<std::size_t>(std::ranges::count_if(lines.shown, [](const Trial* trial) { return trial != nullptr; }));
    if (lines.usual) match.clock_ahead = *lines.usual * detail::quarter_hour;
    for (const detail::EventTrial& event : found) match.event_matched.push_back(event.trial != nullptr);
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (found[i].trial) {
            if (log.events[i].state == TrialState::complete) continue;
            ToldFailure told{.failure = detail::failure_of(log.events[i]),
                             .place = detail::lines_text(log, log.events[i].line, log.events[i].line)};
            if (detail::tells_failure(log.events[i], told.failure)) match.told.emplace(found[i].trial->number, std::move(told));
            continue;
        }
        std::size_t end = i + 1;
        while (end < found.size() && !found[end].trial) ++end;
        match.unmatched.push_back(detail::lines_text(log, log.events[i].line, log.events[end - 1].line) + ": the " +
                                  std::to_string(end - i) + " that " + (end - i == 1 ? "tells" : "tell") + " of the end of a trial " +
                                  (end - i == 1 ? "is" : "are") + " of another study or run: number, state, time or parameters differ");
        i = end - 1;
    }
    if (log.shows_more)
        match.unmatched.push_back(log.name + ": lines that may show a trial's parameters behind line " +
                                  std::to_string(log.shown.back().line) + ": it has too many of them");
    if (log.remarks.empty()) return;
    detail::RemarkTrials running{trials};
    running.of_study = detail::is_of_study(log, found, running);
    std::vector<const Trial*> of_remark;
    for (const LogRemark& remark : log.remarks) of_remark.push_back(detail::trial_of_remark(remark, log, lines, running));
    std::vector<const LogRemark*> unknown;        // errors in the program's own words, of no known trial
    for (const bool own_words : {false, true}) {  // what Python or an allocator printed comes first
        for (std::size_t i = 0; i < log.remarks.size(); ++i) {
            const LogRemark& remark = log.remarks[i];
            if (remark.own_words != own_words) continue;
            if (remark.of_event && !found[*remark.of_event].trial) continue;  // that line is named above
            std::string place = detail::lines_text(log, remark.line, remark.line);
            const Trial* const trial = of_remark[i];
            if (trial) {
                if (!trial->attempts.empty()) continue;
                if (detail::went_on_behind(i, log, of_remark)) {
                    match.unmatched.push_back(place + ": " + std::string{to_text(remark.failure.kind)} +
                                              ", after which the program of trial " + std::to_string(trial->number) +
                                              " went on until another error");
                    continue;
                }
                if (detail::tell(match.told, *trial, remark, place, log, lines)) continue;
                ++(was_killed(remark.failure) ? match.unmatched_kills : match.unmatched_memory);
                match.unmatched.push_back(place + ": " + std::string{to_text(remark.failure.kind)} + " that may be why trial " +
                                          std::to_string(trial->number) + " failed, or that its program went on after");
                continue;
            }
            if (own_words) {
                unknown.push_back(&remark);
                continue;
            }
            if (ran_out_of_memory(remark.failure.kind)) ++match.unmatched_memory;
            if (was_killed(remark.failure)) ++match.unmatched_kills;
            match.unmatched.push_back(
                remark.doubtful ? place + ": it may tell of an out-of-memory, or only mention one"
                                : place + ": " + std::string{to_text(remark.failure.kind)} +
                                      " that cannot be given to one trial: none or several ran at that time, or its time is not known");
        }
    }
    if (!unknown.empty())
        match.unmatched.push_back(detail::lines_text(log, unknown.front()->line, unknown.back()->line) + ": " +
                                  std::to_string(unknown.size()) + " that " + (unknown.size() == 1 ? "tells" : "tell") +
                                  " of an error in the program's own words, and cannot be given to one trial");
}

}  // namespace hpo::analysis
