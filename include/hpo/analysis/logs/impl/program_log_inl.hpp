// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/analysis/cases/told_failure.hpp"
#include "hpo/analysis/logs/memory_words.hpp"
#include "hpo/analysis/logs/program_log.hpp"
#include "hpo/base/inline.hpp"

namespace hpo::analysis::inline logs {

HPO_INLINE void LogReader::line(std::string_view text) {
    ++log_.lines;
    for (text = text.substr(0, longest_line);;) {
        const auto end = text.find('\r');
        if (end != 0 || text.empty()) piece(text.substr(0, end));
        if (end == std::string_view::npos) return;
        text.remove_prefix(end + 1);
        if (text.empty()) return;
    }
}

HPO_INLINE void LogReader::piece(std::string_view raw) {
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
    if (may_be_event && raw.find(" failed with value ") != std::string_view::npos)
        return end_traceback();  // the line holds nothing more of use
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

HPO_INLINE bool LogReader::goes_on(std::string_view raw) {
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

HPO_INLINE void LogReader::end_traceback() {
    if (in_traceback_) {
        while (traceback_.ends_with("\n\n")) traceback_.pop_back();
        if (of_event_) {
            log_.events.back().traceback = std::move(traceback_);
        } else if (auto failure = classify_exceptions(exceptions_in(traceback_))) {
            failure->traceback = std::move(traceback_);
            keep({.line = traceback_line_, .trial = {}, .microseconds = traceback_time_, .failure = std::move(*failure)});
        }
    }
    traceback_.clear();
    in_traceback_ = raised_ = blank_ = chain_ = of_event_ = follows_failure_ = false;
}

HPO_INLINE void LogReader::remark(std::string_view raw) {
    if (const auto death = detail::death_of_process(raw)) {
        Failure failure;
        failure.kind = FailureKind::crash;
        failure.signal = death->first;
        failure.message = "the process was ended: " + std::string{death->second};
        if (death->first == 9) failure.message += "; perhaps by the kernel's out-of-memory killer";
        keep({.line = log_.lines, .trial = {}, .microseconds = last_time_, .process_died = true, .failure = std::move(failure)});
        return;
    }
    if (!detail::may_tell_failure(raw) || raw.size() > 20000) return;
    constexpr std::size_t longest_sentence = 400;
    const bool program = detail::is_program_text(raw);
    Failure failure = classify_python(raw);
    const auto words = raw.size() > longest_sentence ? detail::MemoryWords::none : detail::memory_words(raw);
    if (!program || !is_memory(failure.kind)) {
        if (words == detail::MemoryWords::none) return;
        if (!is_memory(failure.kind)) {
            failure = {};
            failure.kind = words == detail::MemoryWords::host ? FailureKind::host_out_of_memory : FailureKind::out_of_memory;
            failure.message = raw;
        }
    }
    keep({.line = log_.lines,
          .trial = detail::named_trial(raw),
          .microseconds = last_time_,
          .doubtful = !program && words == detail::MemoryWords::doubtful,
          .failure = std::move(failure)});
}

HPO_INLINE void LogReader::keep(LogRemark remark) {
    remark.events_before = log_.events.size();
    log_.remarks.push_back(std::move(remark));
}

}  // namespace hpo::analysis::logs
