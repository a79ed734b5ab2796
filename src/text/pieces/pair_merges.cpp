// SPDX-License-Identifier: MIT
#include "text/pieces/pair_merges.hpp"

#include <cstddef>
#include <functional>
#include <queue>
#include <vector>

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

}  // namespace hpo::text
