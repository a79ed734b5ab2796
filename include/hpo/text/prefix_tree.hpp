// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hpo::text {

/// Finds which of many keys a text begins with, all in one walk along the text.
/// Thread safety: a finished tree may be asked from several threads.
class PrefixTree {
public:
    PrefixTree() = default;
    /// Keys, none empty and none twice, with their values, none negative.
    explicit PrefixTree(std::vector<std::pair<std::string, std::int32_t>> keys) {
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

    /// Calls `found(length, value)` for every key that the text begins with, the shortest first.
    template <class Found>
    void each_prefix(std::string_view text, const Found& found) const {
        if (nodes_.empty()) return;
        std::size_t at = 0;
        for (std::size_t i = 0; i < text.size(); ++i) {
            const auto begin = bytes_.begin() + nodes_[at].children;
            const auto end = bytes_.begin() + nodes_[at].end;
            const auto child = std::lower_bound(begin, end, text[i], [](char a, char b) {
                return std::string_view{&a, 1} < std::string_view{&b, 1};
            });
            if (child == end || *child != text[i]) return;
            at = static_cast<std::size_t>(child - bytes_.begin());
            if (nodes_[at].value >= 0) found(i + 1, nodes_[at].value);
        }
    }

private:
    struct Node {
        std::uint32_t children = 0;  ///< index of the first
        std::uint32_t end = 0;       ///< one past the last
        std::int32_t value = -1;     ///< of the key that ends here; -1: none
    };
    std::vector<Node> nodes_;
    std::vector<char> bytes_;  ///< of each node, the last of its key; siblings stand together in the order of std::string
};

}  // namespace hpo::text
