// SPDX-License-Identifier: MIT
#include "hpo/guard/probe.hpp"

#include "support/catch.hpp"

using hpo::guard::Probe;

TEST_CASE("a probe is asked for, and its uncertainty is added") {
    const hpo::ParamSet params;
    const hpo::ExecutionPlan plan;
    hpo::PeakPrediction prediction;
    prediction.source = hpo::PeakSource::probe;
    prediction.need = prediction.comfort = 2000;
    prediction.uncertainty = 0.1;
    hpo::Profile profile;
    profile.weight_bytes = 1000;
    const hpo::Estimate found = Probe{}.estimate({params, plan, &profile, std::nullopt, hpo::History{}, &prediction});
    CHECK(Probe{}.evidence() == hpo::Evidence::probe);
    CHECK(found.need == 2200);
    CHECK(found.source == "probe");
    CHECK(Probe{}.estimate({params, plan, &profile, std::nullopt, hpo::History{}}).source == "formula");
    CHECK_THROWS_WITH((Probe{{.margin = -0.5}}), "margin: got -0.5; expected 0 or more");
}
