// SPDX-License-Identifier: MIT
#pragma once

#include "hpo/core/trial.hpp"

namespace hpo::tuner {

/// Drops from a finished trial what only a post-mortem reads, and gives the memory back. The store has it all. A long run then keeps every
/// trial for its policies without filling the memory. What is dropped:
///
/// - tracebacks, except the last words of a process that told nothing else
/// - the message and the evidence of a failure that another attempt followed; its kind, cause and figures stay
/// - the neighbours in a failure's memory reading
/// - memory marks, except those that tell held memory (core/memory_leak.hpp)
/// - the parts of estimates, except those by which guards count errors (memory::tells_error)
void drop_details(Trial& finished);

}  // namespace hpo::tuner

#ifndef HPO_COMPILED
#include "hpo/tuner/impl/finished_trial_inl.hpp"
#endif
