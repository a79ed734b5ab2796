// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace hpo::test {

/// A terminal as the tools need one: it wraps, scrolls, moves up, erases, and wraps its lines anew when it is resized. What it does not
/// know is an error. A character that is not ASCII stands as a question mark and is one column wide.
class SmallTerminal {
public:
    SmallTerminal(std::size_t columns, std::size_t rows) : columns_{columns}, rows_{rows} {}

    void write(std::string_view text) {
        for (std::size_t at = 0; at < text.size();) {
            const char c = text[at];
            if (c == '\x1b') {
                at = escape(text, at);
                continue;
            }
            if (c == '\n') {  // as the terminal driver sends it: with a return
                ++row_;
                column_ = 0;
                need(row_);
            } else if (c == '\r') {
                column_ = 0;
            } else if (c >= ' ' && c < 0x7F) {
                put(c);
            } else if ((static_cast<unsigned char>(c) & 0xC0U) == 0xC0U) {
                put('?');
            } else if ((static_cast<unsigned char>(c) & 0xC0U) == 0x80U) {
                ++at;  // a character goes on
                continue;
            } else {
                throw std::runtime_error{"control character on the terminal"};
            }
            ++at;
        }
    }

    /// Narrower or wider: lines that were wrapped are wrapped anew, as most terminals do.
    void resize(std::size_t columns) {
        std::vector<Row> lines;
        std::size_t cursor_line = 0;
        for (std::size_t i = 0; i < screen_.size(); ++i) {
            if (i > 0 && screen_[i - 1].goes_on) lines.back().text += screen_[i].text;
            else lines.push_back({screen_[i].text, false});
            if (i == row_) cursor_line = lines.size() - 1;
        }
        columns_ = columns;
        screen_.clear();
        for (std::size_t i = 0; i < lines.size(); ++i) {
            if (i == cursor_line) row_ = screen_.size();  // the cursor stands at a line's begin
            std::string_view rest = lines[i].text;
            while (rest.size() > columns_) {
                screen_.push_back({std::string{rest.substr(0, columns_)}, true});
                rest.remove_prefix(columns_);
            }
            screen_.push_back({std::string{rest}, false});
        }
    }

    /// All lines since the start, without blank ones at the end.
    [[nodiscard]] std::vector<std::string> lines() const {
        std::vector<std::string> found;
        for (const Row& row : screen_) {
            found.push_back(row.text);
            while (!found.back().empty() && found.back().back() == ' ') found.back().pop_back();
        }
        while (!found.empty() && found.back().empty()) found.pop_back();
        return found;
    }
    [[nodiscard]] std::size_t erased() const { return erased_; }  ///< characters that were erased
    [[nodiscard]] bool in_update() const { return in_update_; }

private:
    struct Row {
        std::string text;
        bool goes_on = false;  ///< wrapped: the next row belongs to it
    };

    void need(std::size_t row) {
        while (screen_.size() <= row) screen_.emplace_back();
    }
    void put(char c) {
        need(row_);
        if (column_ == columns_ && !wraps_) --column_;
        if (column_ == columns_) {
            screen_[row_].goes_on = true;
            need(++row_);
            column_ = 0;
        }
        std::string& text = screen_[row_].text;
        if (text.size() <= column_) text.resize(column_ + 1, ' ');
        text[column_++] = c;
    }
    void erase_rest_of_row() {
        need(row_);
        Row& row = screen_[row_];
        if (row.text.size() > column_) {
            erased_ += row.text.size() - column_;
            row.text.resize(column_);
        }
        row.goes_on = false;
    }
    std::size_t escape(std::string_view text, std::size_t at) {
        const auto is = [&](std::string_view sequence) { return text.substr(at).starts_with(sequence); };
        if (is("\x1b[?2026h") || is("\x1b[?2026l")) {
            in_update_ = text[at + 7] == 'h';
            return at + 8;
        }
        if (is("\x1b[?7h") || is("\x1b[?7l")) {
            wraps_ = text[at + 4] == 'h';
            return at + 5;
        }
        if (is("\x1b[K")) {
            erase_rest_of_row();
            return at + 3;
        }
        if (is("\x1b[J")) {
            erase_rest_of_row();
            for (std::size_t row = row_ + 1; row < screen_.size(); ++row) erased_ += screen_[row].text.size();
            screen_.resize(row_ + 1);
            return at + 3;
        }
        std::size_t count = 0;
        at += 2;
        while (at < text.size() && text[at] >= '0' && text[at] <= '9') count = count * 10 + static_cast<std::size_t>(text[at++] - '0');
        if (at >= text.size() || (text[at] != 'A' && text[at] != 'B')) throw std::runtime_error{"unknown escape sequence"};
        // It cannot go up to what has scrolled away, nor below the last row.
        const std::size_t top = screen_.size() > rows_ ? screen_.size() - rows_ : 0;
        if (text[at] == 'B') {
            row_ = std::min(row_ + std::max<std::size_t>(count, 1), top + rows_ - 1);
            need(row_);
        } else row_ = row_ > count + top ? row_ - count : top;
        return at + 1;
    }

    std::size_t columns_, rows_;
    std::size_t row_ = 0, column_ = 0;
    std::vector<Row> screen_;  ///< with what has scrolled away
    std::size_t erased_ = 0;
    bool in_update_ = false;
    bool wraps_ = true;
};

}  // namespace hpo::test
