// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "hpo/text/pieces/vocabulary.hpp"

namespace hpo::text {

/// Joins tokens by byte-pair encoding (Sennrich et al. 2016). As long as two neighbours have a rule, the rule of the lowest rank joins its
/// leftmost pair. O(n log n) in the number of tokens.
class PairMerges {
public:
    struct Pair {
        TokenId left;
        TokenId right;
    };
    /// Adds a rule. Its rank is the number of rules that were added before. If a pair has two rules, the later one counts.
    void add(Pair pair, TokenId joined) { rules_.insert_or_assign(key(pair), Rule{next_rank_++, joined}); }
    [[nodiscard]] std::size_t size() const noexcept { return rules_.size(); }

    void apply(std::vector<TokenId>& tokens) const;

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
