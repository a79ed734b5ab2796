// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "hpo/core/trial.hpp"

namespace hpo::tuner {

/// In words, how far a predicted peak was from what the attempt took, where that is more than a tenth and a mebibyte; nothing where it
/// came about, and where nobody knows: only attempts that reached their end, or the end of the memory, tell it.
///
/// What is held against the measurement is what was predicted for the allocator: the guard's margin and what lies outside it (the
/// device's context) are taken off. Between need and comfort everything was predicted. Memory that the process held beyond the attempt
/// may be the attempt's own or not: the smaller difference counts.
[[nodiscard]] std::optional<std::string> prediction_miss(const Attempt& attempt);

}  // namespace hpo::tuner

#ifndef HPO_COMPILED
#include "hpo/tuner/impl/prediction_miss_inl.hpp"
#endif
