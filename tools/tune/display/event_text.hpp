// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

#include "hpo/core/failure.hpp"
#include "hpo/core/history.hpp"
#include "hpo/core/memory_reading.hpp"
#include "hpo/core/trial.hpp"

namespace hpo::tune {

/// @name What the display and the log of a run tell in the same words, without the name of the trial
/// @{
/// "crash: the worker was ended by signal 11": the kind, and the line of what was said that tells it.
[[nodiscard]] std::string failure_text(const Failure& failure);
/// How a trial goes on with a lost one.
[[nodiscard]] std::string goes_on_text(const Trial& trial, const Trial& lost);
/// What a worker kept reserved without use, or how its host memory has grown. Empty for other marks.
[[nodiscard]] std::string replaced_text(const MemoryMark& mark);
/// Nothing runs, because so many trials wait for free memory, one of them for at most so long.
[[nodiscard]] std::string all_wait_text(std::size_t trials, double seconds);
[[nodiscard]] std::string device_left_out_text(const std::string& device, double seconds, const Failure& latest);
[[nodiscard]] std::string source_given_up_text(const std::string& source, const std::string& family);
[[nodiscard]] std::string rejected_text(const Rejection& rejection);
/// @}

}  // namespace hpo::tune
