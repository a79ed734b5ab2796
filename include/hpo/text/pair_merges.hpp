// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "hpo/text/vocabulary.hpp"

namespace hpo::text {

/// Byte-pair encoding's one step (Sennrich et al. 2016): while neighbours have a rule, the rule of the lowest rank joins the leftmost
/// pair that it fits. O(n log n) in the number of tokens.
class PairMerges {
public:
    struct Pair {
        TokenId left;
        TokenId right;
    };
    /// The rule's rank is the number of rules added before it. Of two rules for one pair the later counts.
    void add(Pair pair, TokenId joined) { rules_.insert_or_assign(key(pair), Rule{next_rank_++, joined}); }
    [[nodiscard]] std::size_t size() const noexcept { return rules_.size(); }

    void apply(std::vector<TokenId>& tokens) const {
        if (tokens.size() < 2) return;
        // A list in place: a token that was joined to its left neighbour is gone.
        struct Place {
            std::size_t before;
            std::size_t after;
        };
        const std::size_t none = tokens.size();
        std::vector<Place> places(tokens.size());
        std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
        const auto consider = [&](std::size_t left, std::size_t right) {
            if (const Rule* rule = find({tokens[left], tokens[right]})) queue.push({rule->rank, left, rule->joined});
        };
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            places[i] = {i == 0 ? none : i - 1, i + 1};
            if (i + 1 < tokens.size()) consider(i, i + 1);
        }
        while (!queue.empty()) {
            const Candidate best = queue.top();
            queue.pop();
            const std::size_t left = best.left;
            if (tokens[left] == gone || places[left].after == none) continue;
            const std::size_t right = places[left].after;
            const Rule* rule = find({tokens[left], tokens[right]});
            if (rule == nullptr || rule->joined != best.joined) continue;  // its neighbours have changed meanwhile
            tokens[left] = best.joined;
            tokens[right] = gone;
            places[left].after = places[right].after;
            if (places[left].after != none) {
                places[places[left].after].before = left;
                consider(left, places[left].after);
            }
            if (places[left].before != none) consider(places[left].before, left);
        }
        std::erase(tokens, gone);
    }

private:
    static constexpr TokenId gone = -1;
    struct Rule {
        std::uint32_t rank;
        TokenId joined;
    };
    struct Candidate {
        std::uint32_t rank;
        std::size_t left;
        TokenId joined;
        [[nodiscard]] bool operator>(const Candidate& other) const noexcept {
            return rank != other.rank ? rank > other.rank : left > other.left;
        }
    };
    [[nodiscard]] static std::uint64_t key(Pair pair) noexcept {
        return std::uint64_t{static_cast<std::uint32_t>(pair.left)} << 32U | static_cast<std::uint32_t>(pair.right);
    }
    [[nodiscard]] const Rule* find(Pair pair) const {
        const auto found = rules_.find(key(pair));
        return found == rules_.end() ? nullptr : &found->second;
    }
    struct Spread {  // the standard hash of a number is the number itself
        [[nodiscard]] std::size_t operator()(std::uint64_t value) const noexcept {
            return (value ^ value >> 29U) * 0x9E3779B97F4A7C15U >> 7U;
        }
    };
    std::unordered_map<std::uint64_t, Rule, Spread> rules_;
    std::uint32_t next_rank_ = 0;
};

}  // namespace hpo::text
