// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/analysis/regions/condition.hpp"
#include "hpo/analysis/rules/wait_record.hpp"
#include "hpo/core/failure.hpp"

namespace hpo::analysis {

/// A region with the share of its trials that ran out of memory.
struct OomRegion {
    Region region;
    std::size_t trials = 0;
    std::size_t oom = 0;
    std::size_t recovered = 0;         ///< of these, trials that ran in a later attempt: they only needed another plan
    std::vector<std::int64_t> best{};  ///< numbers of the trials_to_keep in the region
    [[nodiscard]] double rate() const { return trials > 0 ? static_cast<double>(oom) / static_cast<double>(trials) : 0; }
};

}  // namespace hpo::analysis

namespace hpo::analysis::detail {

/// A Lua string literal. Escapes that Lua and JSON do not share are written as decimal bytes.
[[nodiscard]] std::string lua_quote(std::string_view text);

/// The text without line ends, for a comment.
[[nodiscard]] inline std::string one_line(std::string text) {
    for (char& c : text) c = static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    return text;
}

[[nodiscard]] std::string lua_literal(const Value& value);

/// "Trial 12, among the best, ran"; "Trials 3, 12, 40 and 5 more, among the best, ran".
[[nodiscard]] std::string best_trials_text(std::span<const std::int64_t> numbers);

}  // namespace hpo::analysis::detail

namespace hpo::analysis {

/// A Lua chunk with the rule for a study's out-of-memories. It returns a table with one function, both or none. `causes` are the causes
/// that the rule must answer. They leave out failures that only needed a larger share of the device. `knows_batch`: trials have a batch
/// that hpo can split. The text is empty if there are no causes, and if it could say nothing about them.
///
/// `require_fits(trial)` is called at the end of `space`. It refuses the regions in which no trial ran with any plan and none is among the
/// best. Comments say which regions it does not refuse, and why. Regions where trials ran with a smaller micro-batch are not refused.
///
/// `on_oom` goes into the study's table and retries those trials. It answers the first failure by fragmentation or a leak with a fresh
/// worker. If other processes held the memory, it waits, unless `waits` shows that this did
/// not help. It answers all others with smaller micro-batches of the same effective
/// batch, where there is a batch.
[[nodiscard]] std::string lua_rule(std::span<const OomRegion> regions, const std::set<OomCause>& causes, bool knows_batch,
                                   const WaitRecord& waits = {});

}  // namespace hpo::analysis
