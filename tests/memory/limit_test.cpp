// SPDX-License-Identifier: MIT
#include "hpo/memory/limit.hpp"

#include "hpo/memory/admission.hpp"
#include "support/catch.hpp"

using hpo::memory::Limit;

TEST_CASE("limit reserves its bytes and caps the worker at them") {
    const hpo::ParamSet params;
    const hpo::ExecutionPlan plan;
    const Limit guard{{hpo::Bytes{600}}};
    const hpo::Admission admission = hpo::admit(guard, {params, plan, nullptr, 1000, hpo::History{}});
    CHECK(admission.answer == hpo::Admission::Answer::run);
    CHECK(admission.estimate.need == 600);
    CHECK(admission.plan.cap_bytes == 600);
    CHECK(guard.estimate({params, plan, nullptr, std::nullopt, hpo::History{}}).need == 600);
}

TEST_CASE("a cap above the device's capacity is no reason to refuse") {
    const hpo::ParamSet params;
    const hpo::ExecutionPlan plan;
    const hpo::Admission admission = hpo::admit(Limit{{hpo::Bytes{2000}}}, {params, plan, nullptr, 1000, hpo::History{}});
    CHECK(admission.answer == hpo::Admission::Answer::run);
    CHECK(admission.estimate.need == 1000);
    CHECK(admission.plan.cap_bytes == 2000);
}

TEST_CASE("a limit must be given") {
    CHECK_THROWS_WITH(Limit{Limit::Config{}}, "bytes: got 0 bytes; expected a size above 0, such as limit:bytes=2GiB");
}
