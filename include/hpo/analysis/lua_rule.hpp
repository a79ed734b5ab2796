// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/analysis/condition.hpp"
#include "hpo/core/failure.hpp"

namespace hpo::analysis {

/// A region with the share of its trials that ran out of memory.
struct OomRegion {
    Region region;
    std::size_t trials = 0;
    std::size_t oom = 0;
    std::size_t recovered = 0;         ///< of those, trials that ran in a later attempt: they only needed another plan
    std::vector<std::int64_t> best{};  ///< trials_to_keep in the region, by number
    [[nodiscard]] double rate() const { return trials > 0 ? static_cast<double>(oom) / static_cast<double>(trials) : 0; }
};

namespace detail {

/// A Lua string literal: the escapes that Lua and JSON do not share are written as decimal bytes.
[[nodiscard]] std::string lua_quote(std::string_view text);

/// The text without line ends, for a comment.
[[nodiscard]] inline std::string one_line(std::string text) {
    for (char& c : text) c = static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    return text;
}

[[nodiscard]] std::string lua_literal(const Value& value);

}  // namespace detail

/// A Lua chunk with the rule that answers what the study shows. `require_fits(trial)`, to be called at the end of `space`, refuses
/// the regions of which no trial ran at any plan and none is among the best; it says which it leaves alone, and why. Where trials ran with
/// a smaller micro-batch the space stays whole.
/// `on_oom`, for the study's table, keeps those: the first failure by fragmentation or a leak by a fresh worker, the rest by smaller
/// micro-batches of the same effective batch. It returns both in a table. Empty without causes: those of failures that a larger share of
/// the device did not answer.
[[nodiscard]] std::string lua_rule(std::span<const OomRegion> regions, const std::set<OomCause>& causes);

}  // namespace hpo::analysis

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/lua_rule_inl.hpp"
#endif
