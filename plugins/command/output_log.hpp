// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "hpo/trainer/trainer.hpp"

namespace hpo::command {

/// Passes a program's output on to the trial's log: its beginning as it comes, and its end once it has ended. What is between is left out,
/// so a program that writes without end does not fill the disk.
class OutputLog {
public:
    static constexpr std::size_t most_at_once = std::size_t{1} << 20U;
    static constexpr std::size_t most_in_end = std::size_t{64} << 10U;

    explicit OutputLog(hpo::Progress& progress) : progress_{progress} {}

    void line(std::string_view text) {
        keep(text);
        if (passed_ < most_at_once) {
            passed_ += text.size() + 1;
            progress_.log(text);
        } else held_ += text.size() + 1;
    }
    /// Passes on what was held back.
    void finish() {
        if (held_ == 0) return;
        const std::size_t shown = held_ < end_.size() ? held_ : end_.size();
        if (held_ > shown) progress_.log("... (" + std::to_string(held_ - shown) + " bytes left out)");
        std::string_view text{end_};
        text.remove_prefix(end_.size() - shown);
        if (text.ends_with('\n')) text.remove_suffix(1);
        progress_.log(text);
        held_ = 0;
    }
    /// All pipes are read once more.
    void new_round() {
        before_last_ = last_;
        last_ = end_.size();
    }
    /// The program has reported: what it said before did not end it. A report of this round may have been written before the words of the
    /// last one, but not before those of earlier rounds.
    void survived() { survived_ = before_last_; }
    /// The last lines since then, for an explanation of the end. If nothing was said since then that could explain it, all last lines.
    [[nodiscard]] std::string_view last_words() const {
        constexpr std::size_t most = 16384;
        const std::string_view since = std::string_view{end_}.substr(survived_);
        const bool is_blank = since.find_first_not_of(" \t\r\n") == std::string_view::npos;
        const bool is_of_child = since.find("ChildFailedError") != std::string_view::npos;  // torchrun: one of its processes said why
        const std::string_view text = is_blank || is_of_child ? std::string_view{end_} : since;
        if (text.size() <= most) return text;
        const std::string_view end = text.substr(text.size() - most);
        const std::size_t line_end = end.find('\n');
        return line_end == std::string_view::npos ? end : end.substr(line_end + 1);
    }

private:
    void keep(std::string_view text) {
        append_plain(text);
        end_ += '\n';
        if (end_.size() <= 2 * most_in_end) return;
        const std::size_t forgotten = end_.size() - most_in_end;
        end_.erase(0, forgotten);
        for (std::size_t* mark : {&survived_, &before_last_, &last_}) *mark -= std::min(*mark, forgotten);
    }

    /// Appends a line to the end without what a terminal takes for colours (ECMA-48, control sequences). It would hide what the line says.
    void append_plain(std::string_view text) {
        constexpr std::string_view introducer = "\x1b[";
        for (std::size_t at = 0; (at = text.find(introducer)) != std::string_view::npos;) {
            end_ += text.substr(0, at);
            text.remove_prefix(at + introducer.size());
            const auto final_byte = std::find_if(text.begin(), text.end(), [](char each) { return each >= '@' && each <= '~'; });
            text = final_byte == text.end() ? std::string_view{} : std::string_view{final_byte + 1, text.end()};
        }
        end_ += text;
    }

    hpo::Progress& progress_;
    std::string end_;  ///< at least the last most_in_end bytes
    // Bytes at the beginning of end_:
    std::size_t survived_ = 0;
    std::size_t before_last_ = 0;  ///< said before the last round
    std::size_t last_ = 0;         ///< and in it
    std::size_t passed_ = 0;
    std::size_t held_ = 0;  ///< bytes that were not passed on
};

}  // namespace hpo::command
