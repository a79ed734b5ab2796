// SPDX-License-Identifier: MIT
#include "hpo/analysis/logs/program_log.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/failure_cases/memory_words.hpp"
#include "analysis/failure_cases/predicted_oom.hpp"
#include "hpo/analysis/failure_cases/failure_case.hpp"
#include "hpo/analysis/failure_cases/told_failure.hpp"
#include "hpo/failure/framework_message.hpp"
#include "hpo/failure/message_families.hpp"

namespace hpo::analysis::detail {

/// True if a text is the beginning of an error of NCCL, which names its reason below "Last error:".
[[nodiscard]] bool waits_for_last_error(std::string_view text) {
    constexpr std::string_view heading = "Last error:\n";
    const auto last = text.find(heading);
    return text.find("unhandled cuda error") != std::string_view::npos &&
           (last == std::string_view::npos || last + heading.size() == text.size());
}

/// True if the text of a pruned trial speaks of a failure and does not say yet what failed: more of it may stand below. A text such as "not
/// promising" is whole.
[[nodiscard]] bool begins_to_tell(std::string_view text) {
    if (text.empty() || predicts_oom(text)) return false;
    if (waits_for_last_error(text)) return true;
    const FailureKind kind = classify_python(text).kind;
    if (is_memory(kind) || is_device(kind)) return false;
    const std::string first = hpo::detail::lower_case(text.substr(0, text.find('\n')));
    return first.ends_with(':') ||
           hpo::detail::mentions_any(first, {"fail", "error", "exception", "memory", "traceback", "crash", "cuda", "gpu", "died", "abort"});
}

/// True for a text that says how a trial compares with others: it is whole.
[[nodiscard]] bool names_a_pruner(std::string_view text) {
    return hpo::detail::mentions_any(hpo::detail::lower_case(text),
                                     {"promising", "pruned", "pruner", "median", "percentile", "hyperband", "halving", "threshold", "epoch",
                                      "step", "iteration", "intermediate", "worse", "loss", "score", "accuracy", "metric"});
}

/// True if a text says that memory ran out, without figures: they may stand below.
[[nodiscard]] bool lacks_figures(std::string_view text) {
    const Failure failure = classify_python(text);
    return ran_out_of_memory(failure.kind) && !failure.requested_bytes;
}

/// True for the message of an allocator by itself, without words of the program before it.
[[nodiscard]] bool is_bare_message(std::string_view line) {
    static constexpr auto beginnings =
        std::to_array<std::string_view>({"CUDA out of memory", "HIP out of memory", "XPU out of memory", "MPS backend out of memory"});
    const bool begins = std::ranges::any_of(beginnings, [&](std::string_view each) { return line.starts_with(each); });
    return (begins || hpo::detail::exception_line(line)) && classify_python(line).requested_bytes.has_value();
}

/// True for a line that XGBoost's errors have: "[13:55:26] /src/common/device_vector.cu:23: Memory allocation error". Its time is no
/// logger's.
[[nodiscard]] bool is_check_of_xgboost(std::string_view line) {
    if (line.size() < 12 || line[0] != '[' || line[3] != ':' || line[6] != ':' || line.substr(9, 2) != "] ") return false;
    const std::string_view place = line.substr(11, line.find(' ', 11) - 11);
    return place.ends_with(':') && place.find('/') != std::string_view::npos;
}

/// True for the lines that CUDA's errors have behind their first. Any other line behind an exception may be the program's.
[[nodiscard]] bool is_advice_of_cuda(std::string_view line) {
    return line.starts_with("CUDA kernel errors might be ") || line.starts_with("For debugging consider ") ||
           line.starts_with("Compile with `TORCH_USE_CUDA_DSA`");
}

/// True for a statement that raises or tests for an error: a traceback shows it, and it tells of nothing that happened.
[[nodiscard]] bool is_source_code(std::string_view line) {
    for (auto at = line.find("raise "); at != std::string_view::npos; at = line.find("raise ", at + 1)) {
        const std::string_view raised = line.substr(at + std::string_view{"raise "}.size());
        const auto end = raised.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
        if (end != std::string_view::npos && end > 0 && raised[end] == '(') return true;
    }
    return false;
}

}  // namespace hpo::analysis::detail

namespace hpo::analysis {

void LogReader::line(std::string_view text) {
    ++log_.lines;
    for (text = text.substr(0, longest_line);;) {
        const auto end = text.find('\r');
        if (end != 0 || text.empty()) piece(text.substr(0, end));
        if (end == std::string_view::npos) return;
        text.remove_prefix(end + 1);
        if (text.empty()) return;
    }
}

void LogReader::piece(std::string_view raw) {
    std::string stripped;
    if (raw.find('\x1b') != std::string_view::npos) raw = stripped = detail::without_escapes(raw);
    if (raw.size() > widest_) as_wide_ = 0;
    widest_ = std::max(widest_, raw.size());
    if (raw.size() == widest_) ++as_wide_;
    if (goes_on_with_wrapped(raw)) return;
    if (raw.find("rial") == std::string_view::npos || !detail::is_cut_event(raw)) return whole_piece(raw);
    wrapped_.emplace_back(raw);
    wrapped_line_ = log_.lines;
}

bool LogReader::goes_on_with_wrapped(std::string_view raw) {
    if (wrapped_.empty()) return false;
    const auto stamp = std::string_view{wrapped_.front()}.substr(0, std::min(wrapped_.front().find("[I "), wrapped_.front().find("[W ")));
    const std::string_view plain = stamp.size() < wrapped_.front().size() ? detail::without_stamp(raw, stamp).value_or(raw) : raw;
    const bool is_other = plain.empty() || wrapped_.size() == most_wrapped || detail::log_time(plain.substr(0, 40)) ||
                          plain.find(traceback_heading) != std::string_view::npos || detail::log_event(plain) ||
                          detail::failed_trial(plain) || detail::death_of_process(plain);
    if (is_other) {
        replay_wrapped();
        return false;
    }
    wrapped_.emplace_back(plain);
    const bool full = std::ranges::all_of(wrapped_.begin(), wrapped_.end() - 1, [&](const std::string& line) {
        return line.size() + (&line == &wrapped_.front() ? 0 : raw.size() - plain.size()) == widest_;
    });
    const std::string whole = detail::joined_lines(wrapped_, full && as_wide_ > 1);
    if (detail::is_cut_event(whole)) return true;
    const std::size_t last = std::exchange(log_.lines, wrapped_line_);
    wrapped_.clear();
    whole_piece(whole);
    log_.lines = last;
    return true;
}

void LogReader::replay_wrapped() {
    const std::vector<std::string> lines = std::exchange(wrapped_, {});
    const std::size_t last = log_.lines;
    log_.lines = wrapped_line_;
    for (const std::string& line : lines) {
        whole_piece(line);
        ++log_.lines;
    }
    log_.lines = last;
}

void LogReader::event(LogEvent event, std::string_view raw) {
    end_traceback();
    event.line = log_.lines;
    last_time_.reset();
    const auto own = raw.find("[I ");  // Optuna's own time; what stands before it was put there by another program
    stamp_ = own == std::string_view::npos || own > raw.find("rial") ? std::string_view{} : raw.substr(0, own);
    take_message_below(&event);
    text_goes_on_ = event.state == TrialState::pruned && (detail::begins_to_tell(event.error) || detail::lacks_figures(event.error));
    follows_failure_ = event.state == TrialState::fail || text_goes_on_;
    pruned_lines_ = 0;
    const bool ran_out = event.state == TrialState::pruned && ran_out_of_memory(classify_python(event.error).kind);
    message_ = ran_out ? event.error : std::string{};
    message_of_event_ = true;
    remarks_before_event_ = log_.remarks.size();
    log_.events.push_back(std::move(event));
}

void LogReader::close_failure(std::int64_t trial) {
    end_traceback();
    if (log_.events.empty() || log_.events.back().state != TrialState::fail || log_.events.back().trial != trial) return;
    for (std::size_t i = remarks_before_event_; i < log_.remarks.size(); ++i) log_.remarks[i].of_event = log_.events.size() - 1;
    remarks_before_event_ = log_.remarks.size();
}

void LogReader::whole_piece(std::string_view raw) {
    const bool may_be_event = raw.find("rial") != std::string_view::npos;
    if (auto ended = may_be_event ? detail::log_event(raw) : std::nullopt) return event(std::move(*ended), raw);
    if (!message_.empty() && goes_on_with_figures(raw)) return;
    message_.clear();
    if (const auto failed = may_be_event ? detail::failed_trial(raw) : std::nullopt) return close_failure(*failed);
    if (raw.find(traceback_heading) != std::string_view::npos &&
        !(in_traceback_ && (chain_ || raw.find("Original Traceback") != std::string_view::npos))) {
        // The traceback of a worker stands within the text of the error that came of it.
        const bool behind_event = follows_failure_ || (text_goes_on_ && raw.find("Original Traceback") != std::string_view::npos);
        end_traceback();
        in_traceback_ = true;
        of_event_ = behind_event;
        traceback_line_ = log_.lines;
        traceback_time_ = detail::log_time(raw);
        if (!traceback_time_) traceback_time_ = last_time_;
        stamp_ = raw.substr(0, raw.find(traceback_heading));
        text_goes_on_ = false;
    }
    if (in_traceback_) {
        const std::string_view plain = detail::without_stamp(raw, stamp_).value_or(raw);
        const bool was_raised = raised_;
        if (goes_on(plain)) {
            if (!plain.empty() && (!was_raised || detail::is_advice_of_cuda(plain))) traceback_end_ = log_.lines;
            if (traceback_.size() < longest_traceback) traceback_.append(plain).append("\n");
            return;
        }
    }
    end_traceback();
    follows_failure_ = false;
    if (text_goes_on_ && goes_on_with_pruned(raw)) return;
    last_time_ = detail::log_time(raw);
    remark(raw);
}

bool LogReader::goes_on_with_pruned(std::string_view raw) {
    const std::string_view plain = detail::without_stamp(raw, stamp_).value_or(raw);
    const bool is_logged = detail::log_time(plain.substr(0, 40)) && !detail::is_check_of_xgboost(plain);
    text_goes_on_ = ++pruned_lines_ <= longest_pruned_text && !is_logged && !detail::death_of_process(plain);
    if (!text_goes_on_) return false;
    std::string& text = log_.events.back().error;
    if (!detail::begins_to_tell(text) && !detail::is_bare_message(plain)) return text_goes_on_ = false;
    text.append("\n").append(plain);
    const bool may_have_figures = detail::lacks_figures(text);
    text_goes_on_ = detail::begins_to_tell(text) || may_have_figures;
    if (may_have_figures) {
        message_ = text;
        message_of_event_ = true;
    }
    return true;
}

void LogReader::take_message_below(const LogEvent* next) {
    if (log_.events.empty() || log_.remarks.empty()) return;
    LogEvent& pruned = log_.events.back();
    // The next trial tells of its own out-of-memory, or needs none, and the text with which this one was pruned goes on on a new line.
    const bool needs_none =
        !next || next->state == TrialState::complete || (next->state == TrialState::pruned && next->error == pruned.error);
    const bool begins_below = needs_none && !detail::names_a_pruner(pruned.error);
    if (!begins_below && !(next && ran_out_of_memory(classify_python(next->error).kind))) return;
    const LogRemark& below = log_.remarks.back();
    if (!next && !below.failure.traceback.empty()) return;  // it may have ended the next trial, and the process
    const bool is_only =
        below.events_before == log_.events.size() && (log_.remarks.size() == 1 || (&below - 1)->events_before < log_.events.size());
    const std::size_t most_lines_below = begins_below ? 3 : 2;  // one of them may be empty, and one may say where it was
    if (pruned.state != TrialState::pruned || !is_only || below.line > pruned.line + most_lines_below ||
        !(detail::is_bare_message(below.failure.message) || (begins_below && ran_out_of_memory(below.failure.kind) && !below.trial)))
        return;
    pruned.error.append(pruned.error.empty() ? "" : "\n").append(below.failure.message);
    log_.remarks.pop_back();
}

bool LogReader::goes_on_with_figures(std::string_view raw) {
    const std::string_view figures = figures_of_message(raw);
    if (figures.empty()) return false;
    message_.append("\n").append(figures);
    if (message_of_event_) {
        log_.events.back().error = message_;
        return true;
    }
    Failure& told = log_.remarks.back().failure;
    if (Failure whole = classify_python(message_); whole.kind == told.kind) told = std::move(whole);
    return true;
}

bool LogReader::goes_on(std::string_view raw) {
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
    return !blank_ && !detail::log_time(raw.substr(0, 40));  // the message may have several lines
}

void LogReader::end_traceback() {
    if (in_traceback_) {
        while (traceback_.ends_with("\n\n")) traceback_.pop_back();
        if (of_event_ || repeats_event()) {
            log_.events.back().traceback = std::move(traceback_);
        } else if (auto failure = classify_exceptions(exceptions_in(traceback_))) {
            failure->traceback = std::move(traceback_);
            keep({.line = traceback_line_,
                  .last_line = traceback_end_,
                  .of_event = {},
                  .trial = {},
                  .time = traceback_time_,
                  .failure = std::move(*failure)});
        }
    }
    traceback_.clear();
    in_traceback_ = raised_ = blank_ = chain_ = of_event_ = follows_failure_ = false;
}

bool LogReader::repeats_event() const {
    if (log_.events.empty() || log_.events.back().state != TrialState::fail || !log_.events.back().traceback.empty()) return false;
    if (traceback_line_ > log_.events.back().line + most_between) return false;
    const auto named = exception_from_repr(log_.events.back().error);
    const auto chain = exceptions_in(traceback_);
    return named && !named->message.empty() && !chain.empty() && named->message == chain.back().message &&
           (chain.back().type == named->type || chain.back().type.ends_with('.' + named->type));
}

void LogReader::remark(std::string_view raw) {
    if (const auto death = detail::death_of_process(raw)) {
        Failure failure;
        failure.kind = FailureKind::crash;
        failure.signal = death->first;
        failure.message = "the process was ended: " + std::string{death->second};
        if (death->first == 9) failure.message += "; perhaps by the kernel's out-of-memory killer";
        keep({.line = log_.lines,
              .last_line = log_.lines,
              .of_event = {},
              .trial = {},
              .time = last_time_,
              .process_died = true,
              .failure = std::move(failure)});
        return;
    }
    if (raw.size() > 20000) return;
    if (auto died = detail::killed_process(raw)) {
        const auto same = [&](const LogRemark& told) {
            const auto process = detail::process_named(died->message);
            return told.failure.signal == died->signal && process && detail::process_named(told.failure.message) == process;
        };
        if (std::ranges::any_of(log_.remarks, same)) return;  // torchrun and the kernel tell one death in several lines
        keep({.line = log_.lines,
              .last_line = log_.lines,
              .of_event = {},
              .trial = detail::named_trial(raw),
              .time = last_time_,
              .process_died = true,
              .failure = std::move(*died)});
        return;
    }
    if (names_.may_be_shown(raw)) {
        if (log_.shown.size() == most_shown) log_.shows_more = true;
        else log_.shown.push_back({.line = log_.lines, .time = last_time_, .text = std::string{raw}});
    }
    if (detail::is_source_code(raw) || hpo::detail::goes_on_after(hpo::detail::searchable(raw))) return;
    const std::string_view error = own_words_ < most_own_words ? detail::logged_error(raw) : std::string_view{};
    if (error.empty() && !detail::may_tell_failure(raw)) return;
    constexpr std::size_t longest_sentence = 400;
    const bool program = detail::is_program_text(raw);
    Failure failure = classify_python(raw);
    const auto words = raw.size() > longest_sentence ? detail::MemoryWords::none : detail::memory_words(raw);
    bool own_words = false;
    if (words == detail::MemoryWords::predicted) {
        own_words = !detail::says_refused(raw);
        if (own_words && error.empty()) return;
        failure = own_words ? Failure{} : detail::refused_by_program(std::string{raw});
        if (own_words) failure.message = error;
    } else if (!program || !is_memory(failure.kind)) {
        own_words = words == detail::MemoryWords::none && !error.empty();
        if (own_words) {
            ++own_words_;
            failure = classify_python(error);
        } else if (words == detail::MemoryWords::none) {
            return;
        }
        if (!own_words && !is_memory(failure.kind)) {
            failure = {};
            failure.kind = words == detail::MemoryWords::host ? FailureKind::host_out_of_memory : FailureKind::out_of_memory;
            failure.message = raw;
        }
    }
    if (is_memory(failure.kind) && !failure.requested_bytes) {
        message_ = own_words ? error : raw;
        message_of_event_ = false;
    }
    keep({.line = log_.lines,
          .last_line = log_.lines,
          .of_event = {},
          .trial = detail::named_trial(raw),
          .time = last_time_,
          .doubtful = (!program && words == detail::MemoryWords::doubtful) || detail::names_other_program(raw),
          .own_words = own_words,
          .failure = std::move(failure)});
}

void LogReader::keep(LogRemark remark) {
    remark.events_before = log_.events.size();
    remark.shown_before = log_.shown.size();
    log_.remarks.push_back(std::move(remark));
}

}  // namespace hpo::analysis
