// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "hpo/worker/environment.hpp"

namespace hpo::worker {

/// What a library that computes on the CPU chooses its ways by, as text: the first processor of /proc/cpuinfo by its name and its
/// instructions, of which a hash stands for the list. Empty where there is none.
[[nodiscard]] std::string processor_text(std::istream& cpuinfo);

/// The same of this machine, with what a worker's environment tells these libraries to leave aside.
[[nodiscard]] std::string processor_text(const Environment& environment);

}  // namespace hpo::worker

#ifndef HPO_COMPILED
#include "hpo/worker/impl/processor_inl.hpp"
#endif
