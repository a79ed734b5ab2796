// SPDX-License-Identifier: MIT
#include "hpo/guard/limit.hpp"

#include <algorithm>

#include "hpo/guard/admission.hpp"
#include "hpo/guard/unlimited.hpp"
#include "support/catch.hpp"

using hpo::guard::Limit;

namespace {
constexpr std::int64_t mib = std::int64_t{1} << 20U;
}  // namespace

TEST_CASE("limit reserves its bytes and caps the worker at them") {
    const hpo::ParamSet params;
    const hpo::ExecutionPlan plan;
    const Limit guard{{hpo::Bytes{600 * mib}}};
    const hpo::Admission admission = hpo::admit(guard, {params, plan, nullptr, 1000 * mib, hpo::History{}});
    CHECK(admission.answer == hpo::Admission::Answer::run);
    CHECK(admission.estimate.need == 600 * mib);
    CHECK(admission.plan.cap_bytes == 600 * mib);
    CHECK(guard.estimate({params, plan, nullptr, std::nullopt, hpo::History{}}).need == 600 * mib);
}

TEST_CASE("of the plan's own cap and the guard's, the smaller counts, and without a guard's the plan keeps its own") {
    const hpo::ParamSet params;
    for (const std::int64_t own : {400 * mib, 900 * mib}) {
        const hpo::ExecutionPlan plan{.cap_bytes = own};
        const auto capped = hpo::admit(Limit{{hpo::Bytes{600 * mib}}}, {params, plan, nullptr, 1000 * mib, hpo::History{}});
        CHECK(capped.plan.cap_bytes == std::min(own, 600 * mib));
        const auto launched = hpo::admit(hpo::guard::Unlimited{}, {params, plan, nullptr, 1000 * mib, hpo::History{}});
        CHECK(launched.plan.cap_bytes == own);
    }
}

TEST_CASE("a cap above the device's capacity is no reason to refuse") {
    const hpo::ParamSet params;
    const hpo::ExecutionPlan plan;
    const hpo::Admission admission = hpo::admit(Limit{{hpo::Bytes{2000 * mib}}}, {params, plan, nullptr, 1000 * mib, hpo::History{}});
    CHECK(admission.answer == hpo::Admission::Answer::run);
    CHECK(admission.estimate.need == 1000 * mib);
    CHECK(admission.plan.cap_bytes == 2000 * mib);
}

TEST_CASE("a limit must be given, and be one that something trains in") {
    CHECK_THROWS_WITH(Limit{Limit::Config{}}, "bytes: got 0 bytes; expected a size of at least 1.00 MiB, such as limit:bytes=2GiB");
    CHECK_THROWS_WITH(Limit{{hpo::Bytes{5}}}, "bytes: got 5 bytes; expected a size of at least 1.00 MiB, such as limit:bytes=2GiB");
    CHECK_NOTHROW(Limit{{hpo::Bytes{mib}}});
}
