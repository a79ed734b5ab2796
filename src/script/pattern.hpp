// SPDX-License-Identifier: MIT
#pragma once

#include <bitset>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace hpo::script {

/// An invalid pattern. `what` is in Lua's words.
struct PatternError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A Lua pattern, compiled to a list of items. It matches what Lua 5.4 matches, in the same order of preference.
///
/// Design note: Lua's own matcher is a C function that no hook interrupts, and a short pattern can keep it busy for hours. This one
/// backtracks with an explicit stack. A pattern has no alternation, so a state is a position in the subject and one in the item list. It
/// calls `tick` every few thousand steps, and `tick` may throw to stop it. It reads the whole pattern first. So a malformed end is an error
/// here even if Lua's matcher would not have reached it.
class Pattern {
public:
    struct Capture {
        std::size_t begin = 0;
        std::size_t end = 0;
        bool is_position = false;  ///< "()": the position, not the text
    };
    struct Match {
        std::size_t begin = 0;
        std::size_t end = 0;
        std::vector<Capture> captures;
    };

    static constexpr std::size_t max_captures = 32;
    static constexpr std::size_t max_length = 4096;

    explicit Pattern(std::string_view text);

    /// Matches exactly at `start`. Returns nullopt if there is no match there.
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
        std::size_t index = 0;  ///< index of the set or of the capture
        std::size_t least = 0;
        std::size_t most = 0;
        char from = 0;
        char to = 0;
    };

    [[nodiscard]] bool has(const Item& item, char c) const { return sets_[item.index][static_cast<unsigned char>(c)]; }
    [[nodiscard]] bool admits(const Item& item, std::string_view subject, std::size_t at) const {
        return at < subject.size() && has(item, subject[at]);
    }

    static Set letter_class(char letter);

    /// Reads a bracketed set that begins at `at` ('['). Returns the position after its ']'.
    static std::size_t read_set(std::string_view text, std::size_t at, Set& set);

    std::size_t read_item(std::string_view text, std::size_t at, std::vector<std::size_t>& open);

    std::size_t read_single(std::string_view text, std::size_t at);

    std::vector<Item> items_;
    std::vector<Set> sets_;
    std::vector<bool> closed_;  ///< for each capture, in order: true if its end has been read
};

}  // namespace hpo::script
