// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hpo/allocator/snapshot/what_if.hpp"
#include "tune/program/program_estimate.hpp"

namespace hpo::tune {

/// What a card can do for a program.
struct ProgramAnswer {
    ProgramEstimate on_card;
    /// If the program ran out of memory there: the same on a card so large that nothing is refused.
    std::optional<ProgramEstimate> unlimited;
    std::vector<allocator::WhatIf> settings;   ///< of the allocator, on the card; the first are the program's own
    std::optional<std::size_t> worth_setting;  ///< index of a row

    /// The run that got furthest.
    [[nodiscard]] const ProgramEstimate& furthest() const { return unlimited ? *unlimited : on_card; }
    /// nullopt: it is not known.
    [[nodiscard]] std::optional<bool> fits() const;
};

/// Runs a program on its card, and once more on a larger one if it runs out of memory. `say` is called with what is being done, about once
/// a second. Throws as run_on_virtual_card() and estimate_from() do.
[[nodiscard]] ProgramAnswer ask_card(ProgramRun run, const std::function<void(const std::string&)>& say);

}  // namespace hpo::tune
