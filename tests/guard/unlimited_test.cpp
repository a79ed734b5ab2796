// SPDX-License-Identifier: MIT
#include "hpo/guard/unlimited.hpp"

#include "hpo/guard/admission.hpp"
#include "support/catch.hpp"

TEST_CASE("unlimited has no opinion, so everything runs as planned") {
    const hpo::ParamSet params;
    hpo::ExecutionPlan plan;
    plan.effective_batch = 4096;
    const hpo::MemoryQuery query{params, plan, nullptr, 1, hpo::History{}};
    const hpo::guard::Unlimited guard;
    CHECK_FALSE(guard.estimate(query).need);
    CHECK(guard.estimate(query).source == "unlimited");
    const hpo::Admission admission = hpo::admit(guard, query);
    CHECK(admission.answer == hpo::Admission::Answer::run);
    CHECK(admission.plan == plan);
}
