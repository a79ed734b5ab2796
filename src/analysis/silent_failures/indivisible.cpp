// SPDX-License-Identifier: MIT
#include "hpo/analysis/silent_failures/indivisible.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace hpo::analysis::detail {

[[nodiscard]] std::optional<std::int64_t> whole_number(const Trial& trial, const std::string& name) {
    const auto value = trial.params.value(name);
    const auto* number = value ? std::get_if<std::int64_t>(&*value) : nullptr;
    return number && *number > 0 ? std::optional{*number} : std::nullopt;
}

/// Whether the second number divides the first; nullopt if the trial lacks one of them.
[[nodiscard]] std::optional<bool> divides(const Trial& trial, const std::string& whole, const std::string& divisor) {
    const auto a = whole_number(trial, whole);
    const auto b = whole_number(trial, divisor);
    return a && b ? std::optional{*a % *b == 0} : std::nullopt;
}

}  // namespace hpo::analysis::detail

namespace hpo::analysis {

std::optional<IndivisiblePair> indivisible_pair(const std::set<const Trial*>& failed, std::span<const Trial* const> others) {
    constexpr std::size_t fewest = 3;
    if (failed.size() < fewest || others.size() < fewest) return std::nullopt;
    std::vector<std::string> names;
    for (const Param& param : (*failed.begin())->params) {
        if (detail::whole_number(**failed.begin(), param.name)) names.push_back(param.name);
    }
    for (const std::string& whole : names) {
        for (const std::string& divisor : names) {
            if (whole == divisor) continue;
            const auto is = [&](bool expected) {
                return [&, expected](const Trial* trial) { return detail::divides(*trial, whole, divisor) == expected; };
            };
            if (std::ranges::all_of(failed, is(false)) && std::ranges::all_of(others, is(true))) return IndivisiblePair{whole, divisor};
        }
    }
    return std::nullopt;
}

}  // namespace hpo::analysis
