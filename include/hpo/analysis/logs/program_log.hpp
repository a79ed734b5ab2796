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

namespace hpo::analysis::inline logs {

/// Something that a program printed beside Optuna's lines: a traceback, an allocator's message, "Killed".
struct LogRemark {
    std::size_t line = 0;
    std::optional<std::int64_t> trial;  ///< that the line names, as in "Trial 5: CUDA out of memory"
    std::optional<std::int64_t> microseconds;
    std::size_t events_before = 0;
    bool process_died = false;
    bool doubtful = false;  ///< it may only mention memory
    Failure failure;
};

/// The parts of a log that matter here.
struct ProgramLog {
    std::string name;
    std::size_t lines = 0;
    std::vector<LogEvent> events;
    std::vector<LogRemark> remarks;
};

/// Reads a program's log line by line: Optuna's lines about trials, tracebacks, out-of-memory messages, and the death of the process. It
/// keeps only those in memory.
class LogReader {
public:
    explicit LogReader(std::string name) { log_.name = std::move(name); }

    /// Takes the next line, without its line end. Progress bars leave carriage returns. Each piece between them counts as part of the same
    /// line.
    void line(std::string_view text);

    [[nodiscard]] ProgramLog finish() && {
        end_traceback();
        return std::move(log_);
    }

private:
    static constexpr std::size_t longest_line = std::size_t{1} << 20U;
    static constexpr std::size_t longest_traceback = std::size_t{1} << 18U;

    void piece(std::string_view raw);

    /// Whether a line still belongs to the traceback: frames, the exception with its message, and chained exceptions.
    bool goes_on(std::string_view raw);

    void end_traceback();

    void remark(std::string_view raw);

    void keep(LogRemark remark);

    ProgramLog log_;
    std::string traceback_;
    std::size_t traceback_line_ = 0;
    std::optional<std::int64_t> traceback_time_;
    std::optional<std::int64_t> last_time_;  ///< time of the line before
    bool in_traceback_ = false;
    bool of_event_ = false;         ///< the traceback directly follows the line about its trial
    bool follows_failure_ = false;  ///< the next line directly follows such a line
    bool raised_ = false;           ///< the exception's line has been read
    bool blank_ = false;            ///< an empty line came after it
    bool chain_ = false;            ///< the next heading belongs to the same chain
};

}  // namespace hpo::analysis::logs

#ifndef HPO_COMPILED
#include "hpo/analysis/logs/impl/program_log_inl.hpp"
#endif
