// SPDX-License-Identifier: MIT
#include "text/pieces/byte_level_bpe.hpp"

#include <cstddef>
#include <functional>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/base/shown_text.hpp"
#include "text/code_point.hpp"
#include "text/pieces/byte_level_words.hpp"
#include "text/pieces/byte_symbols.hpp"

namespace hpo::text {

void PairMerges::apply(std::vector<TokenId>& tokens) const {
    if (tokens.size() < 2) return;
    // A linked list inside a vector. A token that was joined to its left neighbour is gone.
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
        if (rule == nullptr || rule->joined != best.joined) continue;  // its neighbours have changed since it was queued
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

ByteLevelBpe::ByteLevelBpe(Vocabulary vocabulary, const std::vector<Merge>& merges, FirstWord first_word, const std::string& place)
    : vocabulary_{std::move(vocabulary)}, first_word_{first_word} {
    constexpr auto symbols = byte_symbols();
    const auto id_of = [&](const std::string& token, const std::string& what) {
        const auto id = vocabulary_.find(token);
        if (!id) throw Error{Errc::bad_value, place + ": lacks '" + shown(token) + "', " + what};
        return *id;
    };
    for (std::size_t byte = 0; byte < bytes_.size(); ++byte) {
        std::string symbol;
        append_utf8(symbol, symbols[byte]);
        bytes_[byte] = id_of(symbol, "the symbol of byte " + std::to_string(byte));
    }
    for (std::size_t i = 0; i < merges.size(); ++i) {
        const auto& [left, right] = merges[i];
        const std::string what = "which merge " + std::to_string(i + 1) + " ('" + shown(left) + " " + shown(right) + "') needs";
        merges_.add({id_of(left, what), id_of(right, what)}, id_of(left + right, what));
    }
}

void ByteLevelBpe::append(std::string_view text, std::vector<TokenId>& ids, std::size_t most) const {
    std::string spaced;
    if (first_word_ == FirstWord::after_a_space && !text.empty() && text.front() != ' ') text = spaced = " " + std::string{text};
    split_byte_level(text, [&](std::string_view part) {
        append_word(part, ids);
        return ids.size() < most;
    });
}

void ByteLevelBpe::append_word(std::string_view word, std::vector<TokenId>& ids) const {
    if (cache_.append(word, ids)) return;
    std::vector<TokenId> tokens;
    tokens.reserve(word.size());
    for (const char byte : word) tokens.push_back(bytes_[static_cast<unsigned char>(byte)]);
    merges_.apply(tokens);
    ids.insert(ids.end(), tokens.begin(), tokens.end());
    cache_.learn(word, std::move(tokens));
}

}  // namespace hpo::text
