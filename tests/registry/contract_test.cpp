// SPDX-License-Identifier: MIT
#include <malloc.h>

#include "hpo/registry/builtins.hpp"
#include "hpo/testing/guard_contract.hpp"
#include "hpo/testing/pruner_contract.hpp"
#include "hpo/testing/recovery_contract.hpp"
#include "hpo/testing/sampler_contract.hpp"
#include "support/catch.hpp"

using namespace hpo::registry;  // NOLINT: a test of this namespace
using hpo::testing::ContractReport;

namespace Catch {
template <>
struct StringMaker<ContractReport> {
    static std::string convert(const ContractReport& report) {
        std::string text = "broken:";
        for (const std::string& rule : report.broken) text += "\n  " + rule;
        return text;
    }
};
}  // namespace Catch

namespace {

template <class Policy>
struct Example {
    Policy operator()() const {
        if constexpr (std::same_as<Policy, hpo::guard::Limit>) return Policy{{hpo::Bytes{2'000'000}}};
        else return Policy{typename Policy::Config{}};
    }
};
template <class Any, class Policy>
struct Handle {
    Any operator()() const { return Any{Example<Policy>{}()}; }
};

const ContractReport kept{};

/// Two numbers and a choice, which grid and brute_force can hold, too.
void many_configurations(hpo::SpaceTrial& trial) {
    trial.suggest_int("batch", 1, 4096, {.log = true});
    trial.suggest_int("width", 1, 1000);
    trial.suggest_categorical("kind", {hpo::Value{"a"}, hpo::Value{"b"}});
}

std::vector<hpo::Trial> finished_trials(std::int64_t count) {
    std::vector<hpo::Trial> trials;
    hpo::sampler::Random random;
    for (std::int64_t i = 0; i < count; ++i) {
        const hpo::History none{};
        hpo::Trial& trial = trials.emplace_back();
        trial.number = i;
        trial.params = hpo::suggest_params(random, many_configurations, {.number = i, .history = none}, hpo::Seed{5});
        trial.state = hpo::TrialState::complete;
        trial.values = {*trial.params.number("width")};
        trial.completed = hpo::Time{std::chrono::milliseconds{i}};
    }
    return trials;
}

std::size_t heap_bytes() {
    const auto heap = mallinfo2();
    return heap.uordblks + heap.hblkhd;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("every sampler draws after 100,000 trials and keeps less than 2 KB of each", "", BuiltinSamplers) {
    static constexpr std::array minimised{hpo::Direction::minimize};
    const std::vector<hpo::Trial> trials = finished_trials(100'000);
    const hpo::History history{"long", minimised, trials, {}};
    const std::size_t before = heap_bytes();
    auto sampler = Example<TestType>{}();
    for (std::int64_t i = 0; i < 3; ++i)
        CHECK_NOTHROW(
            hpo::suggest_params(sampler, many_configurations, {.number = std::ssize(trials) + i, .history = history}, hpo::Seed{5}));
    CHECK(heap_bytes() < before + 2000 * trials.size());
}

TEMPLATE_LIST_TEST_CASE("every sampler keeps the contract, as itself and behind a handle", "", BuiltinSamplers) {
    CHECK(hpo::testing::sampler_contract(Example<TestType>{}) == kept);
    CHECK(hpo::testing::sampler_contract(Handle<AnySampler, TestType>{}) == kept);
}

TEMPLATE_LIST_TEST_CASE("every pruner keeps the contract, as itself and behind a handle", "", BuiltinPruners) {
    CHECK(hpo::testing::pruner_contract(Example<TestType>{}) == kept);
    CHECK(hpo::testing::pruner_contract(Handle<AnyPruner, TestType>{}) == kept);
}

TEMPLATE_LIST_TEST_CASE("every memory guard keeps the contract, as itself and behind a handle", "", BuiltinMemoryGuards) {
    CHECK(hpo::testing::guard_contract(Example<TestType>{}) == kept);
    CHECK(hpo::testing::guard_contract(Handle<AnyMemoryGuard, TestType>{}) == kept);
}

TEMPLATE_LIST_TEST_CASE("every recovery policy keeps the contract, as itself and behind a handle", "", BuiltinRecoveries) {
    CHECK(hpo::testing::recovery_contract(Example<TestType>{}) == kept);
    CHECK(hpo::testing::recovery_contract(Handle<AnyRecovery, TestType>{}) == kept);
}

TEST_CASE("a handle draws what its sampler draws") {
    const std::vector<hpo::Trial> trials = hpo::testing::detail::varied_trials(60);
    const hpo::History history{"", {}, trials, {}};
    hpo::sampler::Tpe tpe;
    AnySampler any{hpo::sampler::Tpe{}};
    const auto draw = [&](auto& sampler) {
        return hpo::suggest_params(sampler, hpo::testing::detail::every_kind, {60, history}, hpo::Seed{9});
    };
    CHECK(draw(tpe) == draw(any));
}

TEST_CASE("the suites see policies that break their contracts") {
    struct OutOfRange {
        double suggest(const hpo::Ask& ask) { return std::holds_alternative<hpo::CategoricalDistribution>(ask.distribution) ? 0 : 1e9; }
    };
    struct Forgetful {
        int calls = 0;
        double suggest(const hpo::Ask& ask) {
            ++calls;
            return hpo::sampler::draw_uniform(ask.distribution, calls % 2 == 0 ? ask.within : hpo::Narrowing{}, ask.rng);
        }
    };
    struct Counting {
        int calls = 0;
        double suggest(const hpo::Ask& ask) {
            for (int i = 0; i < calls % 2; ++i) (void)ask.uniform();
            ++calls;
            return ask.uniform();
        }
    };
    struct Silent {
        hpo::Verdict judge(const hpo::PruneQuery&) const { return {hpo::Verdict::Answer::prune, ""}; }
    };
    struct Shrinking {
        hpo::Estimate estimate(const hpo::MemoryQuery& query) const {
            hpo::Estimate estimate;
            estimate.need = -query.plan.effective_micro_batch().value_or(0);
            return estimate;
        }
        hpo::Evidence evidence() const { return hpo::Evidence::none; }
    };
    struct Stubborn {
        hpo::Recovery recover(const hpo::FailedAttempt& failed) const {
            return {.action = hpo::Recovery::Action::retry, .plan = failed.attempt.plan};
        }
    };
    const auto broken = [](const ContractReport& report, const std::string& rule) {
        return std::any_of(report.broken.begin(), report.broken.end(), [&](const std::string& each) { return each.starts_with(rule); });
    };
    CHECK(broken(hpo::testing::sampler_contract([] { return OutOfRange{}; }), "values lie in their distributions"));
    CHECK(broken(hpo::testing::sampler_contract([] { return Forgetful{}; }), "narrowings are respected"));
    CHECK(broken(hpo::testing::own_studies_contract([] { return Counting{}; }), "a new sampler goes on with the same draws"));
    CHECK(broken(hpo::testing::own_studies_contract([] { return OutOfRange{}; }), "no draw throws"));
    CHECK(broken(hpo::testing::pruner_contract([] { return Silent{}; }), "a trial without a report is kept"));
    CHECK(broken(hpo::testing::pruner_contract([] { return Silent{}; }), "a pruned trial is told why"));
    CHECK(broken(hpo::testing::guard_contract([] { return Shrinking{}; }), "a need is not negative"));
    CHECK(broken(hpo::testing::guard_contract([] { return Shrinking{}; }), "a smaller micro-batch needs no more"));
    CHECK(broken(hpo::testing::recovery_contract([] { return Stubborn{}; }), "a trial that always fails ends"));
    CHECK(broken(hpo::testing::recovery_contract([] { return Stubborn{}; }), "a retry after a memory failure changes something"));
}
