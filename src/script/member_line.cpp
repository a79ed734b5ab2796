// SPDX-License-Identifier: MIT
#include "script/member_line.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hpo::script {

namespace member_line_detail {

/// The words and signs of a Lua text, without comments. A text in quotes is one word with its quotes.
class Words {
public:
    explicit Words(std::string_view source) : rest_{source} {}
    /// Returns an empty word at the end.
    std::string_view next() {
        skip_space();
        begin_line_ = line_;
        if (rest_.empty()) return {};
        const auto c = static_cast<unsigned char>(rest_[0]);
        if (std::isalnum(c) != 0 || c == '_') {
            std::size_t length = 1;
            while (length < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[length])) != 0 || rest_[length] == '_'))
                ++length;
            return take(length);
        }
        if (c == '"' || c == '\'') {
            std::size_t length = 1;
            while (length < rest_.size() && rest_[length] != rest_[0] && rest_[length] != '\n') length += rest_[length] == '\\' ? 2 : 1;
            return take(length + 1);
        }
        if (const std::size_t length = long_bracket(rest_); length > 0) return take(length);
        for (const std::string_view pair : {"==", "~=", "<=", ">="}) {
            if (rest_.starts_with(pair)) return take(2);
        }
        return take(1);
    }
    /// Of the word that `next` returned.
    [[nodiscard]] int line() const noexcept { return begin_line_; }

private:
    std::string_view take(std::size_t length) {
        const std::string_view word = rest_.substr(0, length);
        for (const char c : word) line_ += c == '\n' ? 1 : 0;
        rest_.remove_prefix(word.size());
        return word;
    }
    /// The length of "[[...]]" or "[=[...]=]" at the beginning of the text, else 0.
    static std::size_t long_bracket(std::string_view text) {
        if (!text.starts_with('[')) return 0;
        std::size_t level = 0;
        while (level + 1 < text.size() && text[level + 1] == '=') ++level;
        if (level + 1 >= text.size() || text[level + 1] != '[') return 0;
        const std::string close = "]" + std::string(level, '=') + "]";
        const std::size_t end = text.find(close, level + 2);
        return end == std::string_view::npos ? text.size() : end + close.size();
    }
    void skip_space() {
        while (!rest_.empty()) {
            if (std::isspace(static_cast<unsigned char>(rest_[0])) != 0) {
                take(1);
            } else if (rest_.starts_with("--")) {
                const std::size_t length = long_bracket(rest_.substr(2));
                take(length > 0 ? length + 2 : std::min(rest_.find('\n'), rest_.size()));
            } else {
                return;
            }
        }
    }

    std::string_view rest_;
    int line_ = 1;
    int begin_line_ = 1;
};

/// True for a key as it stands in a table: name, or "name" between brackets.
[[nodiscard]] bool names(std::string_view word, std::string_view name) {
    if (word.size() == name.size() + 2 && (word[0] == '"' || word[0] == '\'')) word = word.substr(1, name.size());
    return word == name;
}

struct Word {
    std::string_view text;
    int line = 0;
};

struct FoundMember {
    std::size_t members = 0;  ///< how many of the path were found
    int line = 0;             ///< of the last of them
};

/// Follows the path in the table that begins at `at`.
[[nodiscard]] FoundMember find_member(std::span<const Word> words, std::size_t at, std::span<const std::string> members) {
    FoundMember found{.line = words[at].line};
    std::size_t depth = 0;   // of tables and parentheses
    std::size_t blocks = 0;  // of functions and statements inside the table
    Word before;
    for (const Word& word : words.subspan(at)) {
        const std::string_view text = word.text;
        if (text == "{" || text == "(") ++depth;
        else if (text == "}" || text == ")") {
            if (--depth <= found.members) return found;  // the end of the table that should have had it
        } else if (text == "function" || text == "do" || text == "if" || text == "repeat") ++blocks;
        else if (blocks > 0 && (text == "end" || text == "until")) --blocks;
        else if (text == "=" && blocks == 0 && depth == found.members + 1 && names(before.text, members[found.members])) {
            found.line = before.line;
            if (++found.members == members.size()) return found;
        }
        if (text != "]") before = word;
    }
    return found;
}

}  // namespace member_line_detail

int member_line(std::string_view source, int first_line, std::span<const std::string> members) {
    namespace detail = member_line_detail;
    std::vector<detail::Word> all;
    detail::Words words{source};
    for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
        if (words.line() >= first_line) all.push_back({word, words.line()});
    }
    int line = first_line;
    for (std::size_t i = 0; i < all.size() && all[i].line == first_line; ++i) {
        if (all[i].text != "{") continue;
        const detail::FoundMember found = detail::find_member(all, i, members);
        if (found.members == members.size()) return found.line;
        if (found.members > 0 && line == first_line) line = found.line;
    }
    return line;
}

}  // namespace hpo::script
