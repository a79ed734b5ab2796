// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hpo::text {

/// Finds all keys with which a text begins, in one pass over the text.
/// Thread safety: several threads may use a finished tree.
class PrefixTree {
public:
    PrefixTree() = default;
    /// Keys with their values. No key may be empty or there twice, and no value may be negative.
    explicit PrefixTree(std::vector<std::pair<std::string, std::int32_t>> keys);

    /// Calls `found(length, value)` for every key with which the text begins, shortest first.
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
    std::vector<char> bytes_;  ///< for each node the last byte of its key; siblings are together, in the order of std::string
};

}  // namespace hpo::text
