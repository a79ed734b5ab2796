// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/analysis/logs/log_line.hpp"
#include "hpo/analysis/logs/log_time.hpp"
#include "hpo/analysis/logs/shown_params.hpp"

namespace hpo::analysis {

/// Something that a program printed beside Optuna's lines: a traceback, an allocator's message, "Killed".
struct LogRemark {
    std::size_t line = 0;
    std::size_t last_line = 0;            ///< of a traceback, the first line of its last exception's message
    std::optional<std::size_t> of_event;  ///< of ProgramLog::events, if it is a part of what Optuna logged there
    std::optional<std::int64_t> trial;    ///< that the line names, as in "Trial 5: CUDA out of memory"
    std::optional<detail::LogTime> time;
    std::size_t events_before = 0;
    std::size_t shown_before = 0;  ///< of ProgramLog::shown
    bool process_died = false;
    bool doubtful = false;   ///< it may only mention memory
    bool own_words = false;  ///< an error in the program's own words: it may have gone on
    Failure failure;
};

/// A line of the program's own that may show all parameters of a trial.
struct ShownParams {
    std::size_t line = 0;
    std::optional<detail::LogTime> time;
    std::string text;
};

/// The parts of a log that matter here.
struct ProgramLog {
    std::string name;
    std::size_t lines = 0;
    std::vector<LogEvent> events;
    std::vector<LogRemark> remarks;
    std::vector<ShownParams> shown;
    bool shows_more = false;  ///< lines that may show parameters came after as many as are kept
};

/// Reads a program's log line by line: Optuna's lines about trials, tracebacks, out-of-memory messages, and the death of the process. It
/// keeps only those in memory.
class LogReader {
public:
    /// `names` are those that a trial's parameters may have. Lines that show them are kept, too.
    explicit LogReader(std::string name, ParamNames names = {}) : names_{std::move(names)} { log_.name = std::move(name); }

    /// Takes the next line, without its line end. Progress bars leave carriage returns. Each piece between them counts as part of the same
    /// line.
    void line(std::string_view text);

    [[nodiscard]] ProgramLog finish() && {
        replay_wrapped();
        end_traceback();
        take_message_below(nullptr);
        text_goes_on_ = false;
        return std::move(log_);
    }

private:
    static constexpr std::size_t longest_line = std::size_t{1} << 20U;
    static constexpr std::size_t longest_traceback = std::size_t{1} << 18U;
    static constexpr std::size_t longest_pruned_text = 50;  ///< lines
    static constexpr std::size_t most_wrapped = 60;
    static constexpr std::size_t most_between = 20;  ///< lines of other parts of the program
    static constexpr std::size_t most_own_words = 10'000;
    static constexpr std::size_t most_shown = 200'000;

    void piece(std::string_view raw);

    /// Takes a piece that is whole.
    void whole_piece(std::string_view raw);

    /// Takes a line that may go on with a wrapped one. Returns false if it does not.
    bool goes_on_with_wrapped(std::string_view raw);

    /// Takes the lines of what looked like a wrapped line as they stand.
    void replay_wrapped();

    void event(LogEvent event, std::string_view raw);

    /// Gives what was printed behind the line about a failed trial, up to its last line, to that trial.
    void close_failure(std::int64_t trial);

    /// Gives the message of an allocator directly below a pruned trial to that trial, unless the next trial may have printed it. `next` is
    /// null at the end of the log.
    void take_message_below(const LogEvent* next);
    /// Takes a line that belongs to the text of the trial that was pruned last. Returns false if it does not.
    bool goes_on_with_pruned(std::string_view raw);

    /// Takes a line with figures of the allocator's message before it. Returns false if it is none.
    bool goes_on_with_figures(std::string_view raw);

    /// Whether a line still belongs to the traceback: frames, the exception with its message, and chained exceptions.
    bool goes_on(std::string_view raw);

    void end_traceback();

    /// True if the traceback ends in the error that the line about the last trial names. Other lines stand between the two.
    [[nodiscard]] bool repeats_event() const;

    void remark(std::string_view raw);

    void keep(LogRemark remark);

    ParamNames names_;
    ProgramLog log_;
    std::vector<std::string> wrapped_;      ///< the beginning of a line about the end of a trial
    std::size_t wrapped_line_ = 0;          ///< of the first
    std::size_t widest_ = 0;                ///< bytes of the longest line so far
    std::size_t as_wide_ = 0;               ///< how many lines have that length
    std::size_t remarks_before_event_ = 0;  ///< how many remarks stand before the last event
    std::string traceback_;
    std::string stamp_;  ///< before each line of the traceback, or of the pruned trial's text
    std::size_t traceback_line_ = 0;
    std::size_t traceback_end_ = 0;
    std::optional<detail::LogTime> traceback_time_;
    std::string message_;  ///< of a failure whose figures may follow; empty if none may
    bool message_of_event_ = false;
    std::optional<detail::LogTime> last_time_;  ///< time of the line before
    std::size_t own_words_ = 0;
    std::size_t pruned_lines_ = 0;
    bool text_goes_on_ = false;  ///< the next lines belong to the text of the trial that was pruned last
    bool in_traceback_ = false;
    bool of_event_ = false;         ///< the traceback directly follows the line about its trial
    bool follows_failure_ = false;  ///< the next line directly follows that of a trial that failed, or of one whose text goes on
    bool raised_ = false;           ///< the exception's line has been read
    bool blank_ = false;            ///< an empty line came after it
    bool chain_ = false;            ///< the next heading belongs to the same chain
};

}  // namespace hpo::analysis
