// SPDX-License-Identifier: MIT
#pragma once

#include "hpo/guard/calibrated.hpp"
#include "hpo/guard/dry_run.hpp"
#include "hpo/guard/formula.hpp"
#include "hpo/guard/limit.hpp"
#include "hpo/guard/live.hpp"
#include "hpo/guard/probe.hpp"
#include "hpo/guard/unlimited.hpp"
#include "hpo/guard/virtual_card.hpp"
#include "hpo/pruner/median.hpp"
#include "hpo/pruner/none.hpp"
#include "hpo/pruner/patient.hpp"
#include "hpo/pruner/percentile.hpp"
#include "hpo/pruner/successive_halving.hpp"
#include "hpo/pruner/threshold.hpp"
#include "hpo/recovery/fail.hpp"
#include "hpo/recovery/ladder.hpp"
#include "hpo/recovery/prune.hpp"
#include "hpo/recovery/shrink_micro_batch.hpp"
#include "hpo/registry/any_memory_guard.hpp"
#include "hpo/registry/any_pruner.hpp"
#include "hpo/registry/any_recovery.hpp"
#include "hpo/registry/any_sampler.hpp"
#include "hpo/registry/registry.hpp"
#include "hpo/sampler/auto.hpp"
#include "hpo/sampler/brute_force.hpp"
#include "hpo/sampler/cmaes.hpp"
#include "hpo/sampler/gp.hpp"
#include "hpo/sampler/grid.hpp"
#include "hpo/sampler/qmc.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/sampler/tpe.hpp"

namespace hpo::registry {

template <class...>
struct TypeList {};

/// The built-in policies. These lists are the only ones: they fill the registries, the contract suites and the listing of `hpo-tune
/// policies`. One line for each policy.
// clang-format off
using BuiltinSamplers = TypeList<
    sampler::Auto,
    sampler::Random,
    sampler::Tpe,
    sampler::Gp,
    sampler::Cmaes,
    sampler::Qmc,
    sampler::Grid,
    sampler::BruteForce>;
using BuiltinPruners = TypeList<
    pruner::None,
    pruner::Median,
    pruner::Percentile,
    pruner::SuccessiveHalving,
    pruner::Patient,
    pruner::Threshold>;
using BuiltinMemoryGuards = TypeList<
    guard::Unlimited,
    guard::Limit,
    guard::Formula,
    guard::Probe,
    guard::DryRun,
    guard::VirtualCard,
    guard::Calibrated,
    guard::Live>;
using BuiltinRecoveries = TypeList<
    recovery::Fail,
    recovery::Prune,
    recovery::ShrinkMicroBatch,
    recovery::Ladder<>>;
// clang-format on

/// The four registries that a tool starts with. A program may add its own policies to them.
struct Registries {
    Registry<AnySampler> samplers{"sampler"};
    Registry<AnyPruner> pruners{"pruner"};
    Registry<AnyMemoryGuard> guards{"guard"};
    Registry<AnyRecovery> recoveries{"recovery"};
};

/// All built-in policies under their own names.
[[nodiscard]] inline Registries builtin_registries() {
    const auto fill = []<class Any, class... Policies>(Registry<Any>& registry, TypeList<Policies...>) {
        (registry.template add<Policies>(), ...);
    };
    Registries registries;
    fill(registries.samplers, BuiltinSamplers{});
    fill(registries.pruners, BuiltinPruners{});
    fill(registries.guards, BuiltinMemoryGuards{});
    fill(registries.recoveries, BuiltinRecoveries{});
    return registries;
}

}  // namespace hpo::registry
