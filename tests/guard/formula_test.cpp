// SPDX-License-Identifier: MIT
#include "hpo/guard/formula.hpp"

#include <limits>

#include "guard/nothing.hpp"
#include "support/catch.hpp"

using hpo::guard::Formula;
using hpo::tests::no_params;

namespace {

/// BERT-base in fp32 with Adam, 12 layers of width 768 with 12 heads at length 128, by the closed form.
hpo::Profile bert_base() {
    hpo::Profile profile;
    profile.parameters = profile.trainable_parameters = 110'000'000;
    profile.weight_bytes = profile.gradient_bytes = 4 * profile.parameters;
    profile.optimizer_bytes = 8 * profile.parameters;
    profile.activation_bytes_per_example = 12 * 128 * (66 * 768 + 9 * 12 * 128);
    return profile;
}

hpo::Estimate estimate(const Formula& guard, const hpo::Profile* profile, const hpo::ExecutionPlan& plan) {
    return guard.estimate({no_params, plan, profile, std::nullopt, hpo::History{}});
}

hpo::ExecutionPlan batch(std::optional<std::int64_t> effective, std::optional<std::int64_t> micro = std::nullopt) {
    hpo::ExecutionPlan plan;
    plan.effective_batch = effective;
    plan.micro_batch = micro;
    return plan;
}

}  // namespace

TEST_CASE("the estimate is the sum of its named parts") {
    const hpo::Profile profile = bert_base();
    const hpo::Estimate found = estimate(Formula{}, &profile, batch(8));
    REQUIRE(found.parts.size() == 5);
    std::int64_t sum = 0;
    for (const hpo::EstimatePart& part : found.parts) sum += part.bytes;
    CHECK(found.need == sum);
    // 16 bytes a parameter are 1,760,000,000; 8 examples hold 792,723,456; both by hand.
    CHECK(found.parts[3] == hpo::EstimatePart{"activations", 792'723'456});
    CHECK(found.parts[4] == hpo::EstimatePart{"margin", 510'544'692});
    CHECK(found.source == "formula");
}

TEST_CASE("activations follow the micro-batch, not the effective batch") {
    const hpo::Profile profile = bert_base();
    const Formula guard{{.margin = 0}};
    const auto whole = *estimate(guard, &profile, batch(32)).need;
    const auto half = *estimate(guard, &profile, batch(32, 16)).need;
    CHECK(whole - half == 16 * profile.activation_bytes_per_example);
    CHECK(*estimate(guard, &profile, batch(16)).need == half);
    CHECK(*estimate(guard, &profile, batch(16, 999)).need == half);
}

TEST_CASE("without evidence there is no opinion") {
    const hpo::Profile profile = bert_base();
    CHECK_FALSE(estimate(Formula{}, nullptr, batch(8)).need);
    CHECK_FALSE(estimate(Formula{}, &profile, batch(std::nullopt)).need);
    hpo::Profile fixed = profile;
    fixed.activation_bytes_per_example = 0;
    CHECK(estimate(Formula{}, &fixed, batch(std::nullopt)).need);
}

TEST_CASE("absurd sizes saturate instead of wrapping around") {
    const hpo::Profile profile = bert_base();
    CHECK(*estimate(Formula{}, &profile, batch(std::numeric_limits<std::int64_t>::max())).need == std::int64_t{1} << 62);
}

TEST_CASE("a negative margin is refused") {
    CHECK_THROWS_WITH((Formula{{.margin = -0.1}}), "margin: got -0.1; expected 0 or more");
    CHECK_THROWS((Formula{{.margin = std::numeric_limits<double>::infinity()}}));
}
