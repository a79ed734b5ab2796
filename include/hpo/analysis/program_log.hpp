// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/analysis/log_line.hpp"

namespace hpo::analysis {

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

/// Reads a program's log line by line: Optuna's lines about trials, tracebacks, out-of-memory messages, the death of the process. Memory is
/// kept for those alone.
class LogReader {
public:
    explicit LogReader(std::string name) { log_.name = std::move(name); }

    /// The next line, without its end. Progress bars leave carriage returns: each piece counts as part of the same line.
    void line(std::string_view text);

    [[nodiscard]] ProgramLog finish() && {
        end_traceback();
        return std::move(log_);
    }

private:
    static constexpr std::size_t longest_line = std::size_t{1} << 20U;
    static constexpr std::size_t longest_traceback = std::size_t{1} << 18U;

    void piece(std::string_view raw);

    /// Whether a line still belongs to the traceback: frames, the exception with its message, and the chain.
    bool goes_on(std::string_view raw);

    void end_traceback();

    void remark(std::string_view raw);

    void keep(Failure failure, std::size_t line, std::optional<std::int64_t> microseconds, bool process_died);

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

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/program_log_inl.hpp"
#endif
