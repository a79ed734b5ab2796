// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/analysis/failure_totals.hpp"

namespace hpo::analyze {

/// All failed attempts, whatever the reason.
[[nodiscard]] std::size_t failure_count(const hpo::analysis::FailureTotals& totals);
/// The time of those of which it is known; 0 if there are none, nullopt if no time is known.
[[nodiscard]] std::optional<double> lost_seconds(const hpo::analysis::FailureTotals& totals);

/// "2 trainer_error", "52 without a message".
[[nodiscard]] std::string failure_count(std::string_view name, std::size_t count);

/// Why nobody knows that no memory ran out: "of the trials 52 failed without a message and 3 were pruned before a report; 2
/// attempts were ended by SIGKILL, which hpo did not send". For totals that are uncertain. `of` is what the counts are part of.
[[nodiscard]] std::string uncertain_text(const hpo::analysis::FailureTotals& totals, std::string_view of);

}  // namespace hpo::analyze
