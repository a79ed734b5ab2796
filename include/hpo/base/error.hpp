// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/shown_text.hpp"

namespace hpo {

/// What kind of error it is, so that the caller can act on it. Each has a section in docs/errors.md.
enum class Errc {
    check_failed,       ///< a check that was asked for found a problem
    usage,              ///< a command line or an argument that makes no sense
    unknown_name,       ///< a policy, study, parameter or option that does not exist
    bad_value,          ///< a value of the wrong type or outside its range
    script,             ///< a Lua script that does not load or run
    store,              ///< a store that cannot be opened, read or written
    store_unavailable,  ///< a store that cannot be used now, but perhaps later: it is locked, the disk is full, or the file system fails
    store_schema,       ///< a store of another kind, or of a newer schema
    no_device,          ///< no device that satisfies the request
    plugin,             ///< a trainer plugin that is missing, foreign or broken
    breaker,            ///< a run that its breaker ended, because trials failed in the same way again and again
    program_failed,     ///< a program that was to be looked at failed by itself
    interrupted,        ///< the user asked to stop
};

/// The exit code of the tools for an error of this kind, as docs/errors.md lists it.
[[nodiscard]] constexpr int exit_code(Errc code) noexcept {
    switch (code) {
        case Errc::check_failed: return 1;
        case Errc::usage:
        case Errc::unknown_name:
        case Errc::bad_value:
        case Errc::script: return 2;
        case Errc::store:
        case Errc::store_unavailable:
        case Errc::store_schema: return 3;
        case Errc::no_device: return 4;
        case Errc::breaker: return 5;
        case Errc::plugin: return 6;
        case Errc::program_failed: return 7;
        case Errc::interrupted: return 130;
    }
    return 2;
}

/// The only exception type of the library: for misuse, configuration, storage and plugins. What a trial does wrong is never an Error. It is
/// a Failure (core/failure.hpp).
class Error : public std::runtime_error {
public:
    Error(Errc code, const std::string& what) : std::runtime_error{what}, code_{code} {}
    [[nodiscard]] Errc code() const noexcept { return code_; }

private:
    Errc code_;
};

/// The name in `known` that `name` was probably meant to be, or an empty view. Its optimal string alignment distance is at most a third of
/// the name's length.
[[nodiscard]] std::string_view nearest_name(std::string_view name, std::span<const std::string> known);

/// "a, b, c", or "none" for an empty list.
[[nodiscard]] std::string join_names(std::span<const std::string> names);

/// `place: unknown KIND 'name'; did you mean 'x'?; known: a, b, c`. An empty place is left out. Of a long list, the names that are most
/// like it are known: "a, b, and 30 more".
[[nodiscard]] Error unknown_name(std::string_view place, std::string_view kind, std::string_view name, std::span<const std::string> known);

/// `place: got WHAT; expected EXPECTED`. An empty place is left out.
[[nodiscard]] inline Error bad_value(std::string_view place, std::string_view got, std::string_view expected) {
    std::string text = place.empty() ? std::string{} : std::string{place} + ": ";
    return Error{Errc::bad_value, text + "got " + std::string{got} + "; expected " + std::string{expected}};
}

namespace error_detail {

/// The optimal string alignment distance.
[[nodiscard]] inline std::size_t name_distance(std::string_view name, std::string_view candidate) {
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

inline std::string_view nearest_name(std::string_view name, std::span<const std::string> known) {
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

inline std::string join_names(std::span<const std::string> names) {
    std::string text;
    for (const std::string& name : names) {
        if (!text.empty()) text += ", ";
        text += name;
    }
    return text.empty() ? "none" : text;
}

inline Error unknown_name(std::string_view place, std::string_view kind, std::string_view name, std::span<const std::string> known) {
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
