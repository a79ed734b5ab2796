// SPDX-License-Identifier: MIT
#include "text/pieces/prefix_tree.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace hpo::text {

PrefixTree::PrefixTree(std::vector<std::pair<std::string, std::int32_t>> keys) {
    std::sort(keys.begin(), keys.end());
    struct Range {  // the keys below a node
        std::size_t begin;
        std::size_t end;
        std::size_t depth;  // bytes that they share
    };
    std::deque<Range> open{{0, keys.size(), 0}};
    nodes_.push_back({});
    bytes_.push_back('\0');
    for (std::size_t node = 0; !open.empty(); ++node) {
        auto [begin, end, depth] = open.front();
        open.pop_front();
        if (begin < end && keys[begin].first.size() == depth) nodes_[node].value = keys[begin++].second;
        nodes_[node].children = static_cast<std::uint32_t>(nodes_.size());
        while (begin < end) {
            const char byte = keys[begin].first[depth];
            std::size_t next = begin;
            while (next < end && keys[next].first[depth] == byte) ++next;
            open.push_back({begin, next, depth + 1});
            nodes_.push_back({});
            bytes_.push_back(byte);
            begin = next;
        }
        nodes_[node].end = static_cast<std::uint32_t>(nodes_.size());
    }
}

}  // namespace hpo::text
