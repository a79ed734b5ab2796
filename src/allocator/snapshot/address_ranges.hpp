// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace hpo::allocator {

/// Disjoint ranges of addresses. Neighbours that touch are one.
class AddressRanges {
public:
    void add(std::uint64_t from, std::uint64_t behind) {
        auto at = ranges_.upper_bound(from);
        if (at != ranges_.begin() && std::prev(at)->second >= from) --at;
        while (at != ranges_.end() && at->first <= behind) {
            from = std::min(from, at->first);
            behind = std::max(behind, at->second);
            at = ranges_.erase(at);
        }
        ranges_.emplace(from, behind);
    }
    /// Removes a range. Returns the parts of it that were not there.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> remove(std::uint64_t from, std::uint64_t behind) {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> missing;
        auto at = ranges_.upper_bound(from);
        if (at != ranges_.begin()) --at;
        std::uint64_t done = from;
        while (at != ranges_.end() && at->first < behind) {
            const auto [begin, end] = *at;
            if (end <= from) {
                ++at;
                continue;
            }
            if (begin > done) missing.emplace_back(done, begin);
            done = std::min(end, behind);
            at = ranges_.erase(at);
            if (begin < from) ranges_.emplace(begin, from);
            if (end > behind) at = ranges_.emplace(behind, end).first;
        }
        if (done < behind) missing.emplace_back(done, behind);
        return missing;
    }
    [[nodiscard]] bool contains(std::uint64_t address) const {
        const auto at = ranges_.upper_bound(address);
        return at != ranges_.begin() && address < std::prev(at)->second;
    }
    [[nodiscard]] const std::map<std::uint64_t, std::uint64_t>& all() const { return ranges_; }

private:
    std::map<std::uint64_t, std::uint64_t> ranges_;
};

}  // namespace hpo::allocator
