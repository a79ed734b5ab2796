// SPDX-License-Identifier: MIT
#pragma once

#include <bitset>
#include <cctype>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace hpo::script {

/// A pattern that is not one; `what` is in Lua's words.
struct PatternError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A Lua pattern, compiled to a list of items. Matches what Lua 5.4 matches, in the same order of preference.
///
/// Design note: Lua's own matcher is a C function that no hook interrupts, and a short pattern keeps it busy for hours.
/// This one backtracks over an explicit stack (a pattern has no alternation, so a state is a place in the subject and one
/// in the item list) and calls `tick` every few thousand steps; `tick` ends it by throwing. Unlike Lua's it reads the whole
/// pattern first, so a malformed end is an error even where matching would not have come that far.
class Pattern {
public:
    struct Capture {
        std::size_t begin = 0;
        std::size_t end = 0;
        bool is_position = false;  ///< "()": the place, not the text
    };
    struct Match {
        std::size_t begin = 0;
        std::size_t end = 0;
        std::vector<Capture> captures;
    };

    static constexpr std::size_t max_captures = 32;
    static constexpr std::size_t max_length = 4096;

    explicit Pattern(std::string_view text) {
        if (text.size() > max_length) throw PatternError{"pattern too long (more than 4096 bytes)"};
        std::vector<std::size_t> open;
        std::size_t at = 0;
        while (at < text.size()) at = read_item(text, at, open);
        if (!open.empty()) throw PatternError{"unfinished capture"};
    }

    /// Matches at exactly `start`; nothing when it does not match there.
    template <class Tick>
    [[nodiscard]] std::optional<Match> match_at(std::string_view subject, std::size_t start, Tick&& tick) const {
        struct Choice {
            std::size_t item, begin, end;
        };
        std::vector<Choice> choices;
        Match match{start, start, std::vector<Capture>(closed_.size())};
        std::size_t item = 0;
        std::size_t at = start;
        std::size_t steps = 0;
        const auto work = [&](std::size_t amount) {
            steps += amount;
            if (steps < 8192) return;
            steps = 0;
            tick();
        };
        for (;;) {
            work(1);
            if (item == items_.size()) {
                match.end = at;
                return match;
            }
            const Item& now = items_[item];
            bool good = true;
            switch (now.kind) {
                case Kind::one: good = admits(now, subject, at++); break;
                case Kind::greedy: {
                    std::size_t end = at;
                    while (end - at < now.most && admits(now, subject, end)) {
                        ++end;
                        work(1);
                    }
                    good = end - at >= now.least;
                    if (good) choices.push_back({item, at + now.least, end});
                    at = end;
                    break;
                }
                case Kind::lazy: choices.push_back({item, at, at}); break;
                case Kind::open: match.captures[now.index].begin = at; break;
                case Kind::close: match.captures[now.index].end = at; break;
                case Kind::position: match.captures[now.index] = {at, at, true}; break;
                case Kind::repeat: {
                    const Capture& earlier = match.captures[now.index];
                    const std::size_t length = earlier.is_position ? 0 : earlier.end - earlier.begin;
                    good = !earlier.is_position && subject.size() - at >= length &&
                           subject.substr(at, length) == subject.substr(earlier.begin, length);
                    work(length / 16);
                    at += length;
                    break;
                }
                case Kind::balanced: {
                    good = at < subject.size() && subject[at] == now.from;
                    std::size_t depth = good ? 1 : 0;
                    while (depth > 0 && ++at < subject.size()) {
                        work(1);
                        if (subject[at] == now.to) --depth;
                        else if (subject[at] == now.from) ++depth;
                    }
                    good = good && at < subject.size();
                    ++at;
                    break;
                }
                case Kind::frontier: {
                    const auto before = at == 0 ? '\0' : subject[at - 1];
                    const auto after = at < subject.size() ? subject[at] : '\0';
                    good = !has(now, before) && has(now, after);
                    break;
                }
                case Kind::end: good = at == subject.size(); break;
            }
            ++item;
            while (!good) {
                work(1);
                if (choices.empty()) return std::nullopt;
                Choice& last = choices.back();
                const Item& retried = items_[last.item];
                if (retried.kind == Kind::greedy ? last.end > last.begin : admits(retried, subject, last.end)) {
                    at = retried.kind == Kind::greedy ? --last.end : ++last.end;
                    item = last.item + 1;
                    good = true;
                } else {
                    choices.pop_back();
                }
            }
        }
    }

private:
    enum class Kind { one, greedy, lazy, open, close, position, repeat, balanced, frontier, end };
    using Set = std::bitset<256>;
    struct Item {
        Kind kind = Kind::one;
        std::size_t index = 0;  ///< of the set, or of the capture
        std::size_t least = 0;
        std::size_t most = 0;
        char from = 0;
        char to = 0;
    };

    [[nodiscard]] bool has(const Item& item, char c) const { return sets_[item.index][static_cast<unsigned char>(c)]; }
    [[nodiscard]] bool admits(const Item& item, std::string_view subject, std::size_t at) const {
        return at < subject.size() && has(item, subject[at]);
    }

    static Set letter_class(char letter) {
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

    /// Reads a bracketed set that begins at `at` ('['); returns the place after its ']'.
    static std::size_t read_set(std::string_view text, std::size_t at, Set& set) {
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

    std::size_t read_item(std::string_view text, std::size_t at, std::vector<std::size_t>& open) {
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

    std::size_t read_single(std::string_view text, std::size_t at) {
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

    std::vector<Item> items_;
    std::vector<Set> sets_;
    std::vector<bool> closed_;  ///< for each capture, in order: its end has been read
};

}  // namespace hpo::script
