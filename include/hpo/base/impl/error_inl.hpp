// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/base/inline.hpp"
#include "hpo/base/shown_text.hpp"

namespace hpo {

namespace error_detail {

/// The optimal string alignment distance.
[[nodiscard]] HPO_INLINE std::size_t name_distance(std::string_view name, std::string_view candidate) {
    const std::size_t rows = name.size() + 1;
    const std::size_t columns = candidate.size() + 1;
    std::vector<std::size_t> d(rows * columns);
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < columns; ++j) {
            if (i == 0 || j == 0) {
                d[i * columns + j] = i + j;
                continue;
            }
            const bool same = name[i - 1] == candidate[j - 1];
            std::size_t cost = d[(i - 1) * columns + j - 1] + (same ? 0 : 1);
            cost = std::min(cost, d[(i - 1) * columns + j] + 1);
            cost = std::min(cost, d[i * columns + j - 1] + 1);
            if (i > 1 && j > 1 && name[i - 1] == candidate[j - 2] && name[i - 2] == candidate[j - 1]) {
                cost = std::min(cost, d[(i - 2) * columns + j - 2] + 1);
            }
            d[i * columns + j] = cost;
        }
    }
    return d.back();
}

}  // namespace error_detail

HPO_INLINE std::string_view nearest_name(std::string_view name, std::span<const std::string> known) {
    std::string_view best;
    std::size_t best_distance = name.size() / 3 + 1;
    for (const std::string& candidate : known) {
        const std::size_t distance = error_detail::name_distance(name, candidate);
        if (distance >= best_distance) continue;
        best_distance = distance;
        best = candidate;
    }
    return best;
}

HPO_INLINE std::string join_names(std::span<const std::string> names) {
    std::string text;
    for (const std::string& name : names) {
        if (!text.empty()) text += ", ";
        text += name;
    }
    return text.empty() ? "none" : text;
}

HPO_INLINE Error unknown_name(std::string_view place, std::string_view kind, std::string_view name, std::span<const std::string> known) {
    std::string text = place.empty() ? std::string{} : std::string{place} + ": ";
    constexpr std::size_t longest = 200;  // of a name that somebody wrote
    const bool odd = name.size() > longest || std::ranges::any_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7F; });
    text += "unknown " + std::string{kind} + " '" + (odd ? hpo::shown(name) : std::string{name}) + "'";
    name = name.substr(0, longest);
    if (const auto near = nearest_name(name, known); !near.empty()) text += "; did you mean '" + std::string{near} + "'?";
    constexpr std::size_t most = 16;
    constexpr std::size_t shown = 8;
    if (known.size() <= most) return Error{Errc::unknown_name, text + "; known: " + join_names(known)};
    std::vector<std::pair<std::size_t, std::string>> nearest;
    for (const std::string& each : known) nearest.emplace_back(error_detail::name_distance(name, each), each);
    std::stable_sort(nearest.begin(), nearest.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    text += "; known: ";
    for (std::size_t i = 0; i < shown; ++i) text += nearest[i].second + ", ";
    return Error{Errc::unknown_name, text + "and " + std::to_string(known.size() - shown) + " more"};
}

}  // namespace hpo
