// SPDX-License-Identifier: MIT
#include "script/pattern.hpp"

#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hpo::script {

Pattern::Pattern(std::string_view text) {
    if (text.size() > max_length) throw PatternError{"pattern too long (more than 4096 bytes)"};
    std::vector<std::size_t> open;
    std::size_t at = 0;
    while (at < text.size()) at = read_item(text, at, open);
    if (!open.empty()) throw PatternError{"unfinished capture"};
}

Pattern::Set Pattern::letter_class(char letter) {
    Set set;
    for (int c = 0; c < 256; ++c) {
        bool in = false;
        switch (std::tolower(static_cast<unsigned char>(letter))) {
            case 'a': in = std::isalpha(c) != 0; break;
            case 'c': in = std::iscntrl(c) != 0; break;
            case 'd': in = std::isdigit(c) != 0; break;
            case 'g': in = std::isgraph(c) != 0; break;
            case 'l': in = std::islower(c) != 0; break;
            case 'p': in = std::ispunct(c) != 0; break;
            case 's': in = std::isspace(c) != 0; break;
            case 'u': in = std::isupper(c) != 0; break;
            case 'w': in = std::isalnum(c) != 0; break;
            case 'x': in = std::isxdigit(c) != 0; break;
            case 'z': in = c == 0; break;
            default: return Set{}.set(static_cast<unsigned char>(letter));
        }
        set[static_cast<std::size_t>(c)] = in;
    }
    return std::isupper(static_cast<unsigned char>(letter)) != 0 ? ~set : set;
}

std::size_t Pattern::read_set(std::string_view text, std::size_t at, Set& set) {
    static constexpr const char* missing = "malformed pattern (missing ']')";
    ++at;
    const bool complement = at < text.size() && text[at] == '^';
    if (complement) ++at;
    for (bool first = true;; first = false) {
        if (at >= text.size()) throw PatternError{missing};
        if (text[at] == ']' && !first) break;
        if (text[at] == '%') {
            if (at + 1 >= text.size()) throw PatternError{missing};
            set |= letter_class(text[at + 1]);
            at += 2;
        } else if (at + 2 < text.size() && text[at + 1] == '-' && text[at + 2] != ']') {
            const auto low = static_cast<unsigned char>(text[at]);
            const auto high = static_cast<unsigned char>(text[at + 2]);
            for (std::size_t c = low; c <= high; ++c) set.set(c);
            at += 3;
        } else {
            set.set(static_cast<unsigned char>(text[at++]));
        }
    }
    if (complement) set.flip();
    return at + 1;
}

std::size_t Pattern::read_item(std::string_view text, std::size_t at, std::vector<std::size_t>& open) {
    const char c = text[at];
    if (c == '(') {
        if (closed_.size() == max_captures) throw PatternError{"too many captures"};
        const bool position = at + 1 < text.size() && text[at + 1] == ')';
        items_.push_back({.kind = position ? Kind::position : Kind::open, .index = closed_.size()});
        if (!position) open.push_back(closed_.size());
        closed_.push_back(position);
        return at + (position ? 2 : 1);
    }
    if (c == ')') {
        if (open.empty()) throw PatternError{"invalid pattern capture"};
        items_.push_back({.kind = Kind::close, .index = open.back()});
        closed_[open.back()] = true;
        open.pop_back();
        return at + 1;
    }
    if (c == '$' && at + 1 == text.size()) {
        items_.push_back({.kind = Kind::end});
        return at + 1;
    }
    if (c == '%' && at + 1 < text.size()) {
        const char next = text[at + 1];
        if (next == 'b') {
            if (at + 3 >= text.size()) throw PatternError{"malformed pattern (missing arguments to '%b')"};
            items_.push_back({.kind = Kind::balanced, .from = text[at + 2], .to = text[at + 3]});
            return at + 4;
        }
        if (next == 'f') {
            if (at + 2 >= text.size() || text[at + 2] != '[') throw PatternError{"missing '[' after '%f' in pattern"};
            items_.push_back({.kind = Kind::frontier, .index = sets_.size()});
            return read_set(text, at + 2, sets_.emplace_back());
        }
        if (next >= '0' && next <= '9') {
            const auto index = static_cast<std::size_t>(next - '1');
            if (next == '0' || index >= closed_.size() || !closed_[index]) {
                throw PatternError{std::string{"invalid capture index %"} + next + " in pattern"};
            }
            items_.push_back({.kind = Kind::repeat, .index = index});
            return at + 2;
        }
    }
    return read_single(text, at);
}

std::size_t Pattern::read_single(std::string_view text, std::size_t at) {
    Set& set = sets_.emplace_back();
    if (text[at] == '[') {
        at = read_set(text, at, set);
    } else if (text[at] == '%') {
        if (at + 1 >= text.size()) throw PatternError{"malformed pattern (ends with '%')"};
        set = letter_class(text[at + 1]);
        at += 2;
    } else {
        if (text[at] == '.') set.set();
        else set.set(static_cast<unsigned char>(text[at]));
        ++at;
    }
    Item item{.kind = Kind::one, .index = sets_.size() - 1};
    switch (at < text.size() ? text[at] : '\0') {
        case '*': item.kind = Kind::greedy, item.most = std::string_view::npos; break;
        case '+': item.kind = Kind::greedy, item.least = 1, item.most = std::string_view::npos; break;
        case '?': item.kind = Kind::greedy, item.most = 1; break;
        case '-': item.kind = Kind::lazy; break;
        default: items_.push_back(item); return at;
    }
    items_.push_back(item);
    return at + 1;
}

}  // namespace hpo::script
