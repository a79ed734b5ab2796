// SPDX-License-Identifier: MIT
#pragma once

/// Everything that a C++ program needs to tune in its own process, except stores on disk. hpo/store/sqlite.hpp has those, and includes
/// SQLite.
#include "hpo/guard/formula.hpp"
#include "hpo/guard/limit.hpp"
#include "hpo/guard/unlimited.hpp"
#include "hpo/pruner/median.hpp"
#include "hpo/pruner/none.hpp"
#include "hpo/pruner/percentile.hpp"
#include "hpo/recovery/fail.hpp"
#include "hpo/recovery/prune.hpp"
#include "hpo/recovery/shrink_micro_batch.hpp"
#include "hpo/sampler/brute_force.hpp"
#include "hpo/sampler/cmaes.hpp"
#include "hpo/sampler/grid.hpp"
#include "hpo/sampler/qmc.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/sampler/tpe.hpp"
#include "hpo/store/in_memory.hpp"
#include "hpo/tuner.hpp"
