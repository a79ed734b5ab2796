// SPDX-License-Identifier: MIT
#include "hpo/registry/any_sampler.hpp"

#include "hpo/registry/any_memory_guard.hpp"
#include "hpo/registry/any_pruner.hpp"
#include "hpo/registry/any_recovery.hpp"
#include "hpo/sampler/random.hpp"
#include "support/catch.hpp"

namespace {

struct ReturnsText {
    std::string suggest(const hpo::Ask&) { return {}; }
    std::string judge(const hpo::PruneQuery&) const { return {}; }
    std::string estimate(const hpo::MemoryQuery&) const { return {}; }
    std::string recover(const hpo::FailedAttempt&) const { return {}; }
};
struct NotConst {
    hpo::Verdict judge(const hpo::PruneQuery&) { return {}; }
    hpo::Estimate estimate(const hpo::MemoryQuery&) { return {}; }
    hpo::Evidence evidence() { return {}; }
    hpo::Recovery recover(const hpo::FailedAttempt&) { return {}; }
};
struct NoEvidence {
    hpo::Estimate estimate(const hpo::MemoryQuery&) const { return {}; }
};
struct MoveOnlyHalf {
    std::unique_ptr<double> value = std::make_unique<double>(0.5);
    double suggest(const hpo::Ask&) { return *value; }
};
struct Pinned {
    Pinned(Pinned&&) = delete;
    double suggest(const hpo::Ask&) { return 0; }
};

using namespace hpo::registry;  // NOLINT: a test of this namespace

static_assert(!hpo::Sampler<ReturnsText> && !std::constructible_from<AnySampler, ReturnsText>);
static_assert(!hpo::Sampler<Pinned> && !hpo::Sampler<int>);
static_assert(!hpo::Pruner<ReturnsText> && hpo::Pruner<NotConst> && !std::constructible_from<AnyPruner, ReturnsText>);
static_assert(!hpo::MemoryGuard<ReturnsText> && !hpo::MemoryGuard<NotConst> && !hpo::MemoryGuard<NoEvidence>);
static_assert(!std::constructible_from<AnyMemoryGuard, NoEvidence>);
static_assert(!hpo::RecoveryPolicy<ReturnsText> && !hpo::RecoveryPolicy<NotConst> && !std::constructible_from<AnyRecovery, NotConst>);
static_assert(std::movable<AnySampler> && !std::copyable<AnySampler> && std::movable<AnyPruner> && std::movable<AnyMemoryGuard> &&
              std::movable<AnyRecovery>);

}  // namespace

TEST_CASE("a handle holds a move-only sampler, and moving the handle keeps it") {
    AnySampler sampler{MoveOnlyHalf{}};
    AnySampler moved{std::move(sampler)};
    const hpo::History history{};
    const hpo::TrialContext trial{0, history};
    hpo::Rng rng{0};
    CHECK(moved.suggest({"x", hpo::FloatDistribution{}, {}, {}, trial, rng}) == 0.5);
    CHECK(moved.suggest_joint(trial, rng).empty());
    moved = AnySampler{hpo::sampler::Random{}};
    CHECK(moved.suggest({"x", hpo::FloatDistribution{2, 2, false, {}}, {}, {}, trial, rng}) == 2);
}
