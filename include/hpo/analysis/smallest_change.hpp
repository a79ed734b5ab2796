// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "hpo/analysis/change.hpp"
#include "hpo/analysis/demand_model.hpp"
#include "hpo/analysis/failure_case.hpp"
#include "hpo/analysis/witnesses.hpp"

namespace hpo::analysis {

/// The smallest single change that is known to fit. A later attempt of the trial shows it, else another trial does; a much smaller change
/// that fits by the peaks of all trials is preferred to that. For causes outside the configuration it follows from the failure's figures.
/// Nothing when none is known.
[[nodiscard]] std::optional<Change> smallest_change(const FailureCase& entry, const Witnesses& witnesses, const DemandModel& model);

}  // namespace hpo::analysis

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/smallest_change_inl.hpp"
#endif
