// SPDX-License-Identifier: MIT
#include "hpo/guard/dry_run.hpp"

#include <limits>

#include "guard/nothing.hpp"
#include "support/catch.hpp"

using hpo::EstimatePart;
using hpo::guard::DryRun;
using hpo::tests::no_params;
using hpo::tests::no_plan;

namespace {

hpo::PeakPrediction thousand() {
    hpo::PeakPrediction prediction;
    prediction.need = 1000;
    prediction.comfort = 1200;
    prediction.parts = {{"weights", 400}, {"activations", 500}};
    return prediction;
}

hpo::Estimate estimate(const DryRun& guard, const hpo::PeakPrediction* prediction, const hpo::Profile* profile = nullptr) {
    return guard.estimate({no_params, no_plan, profile, std::nullopt, hpo::History{}, prediction});
}

}  // namespace

TEST_CASE("an exact prediction is the estimate") {
    const hpo::PeakPrediction prediction = thousand();
    const hpo::Estimate found = estimate(DryRun{}, &prediction);
    CHECK(found.need == 1000);
    CHECK(found.comfort == 1200);
    CHECK(found.source == "dry_run");
    CHECK(found.parts == std::vector<EstimatePart>{{"weights", 400}, {"activations", 500}, {"allocator", 100}});
}

TEST_CASE("uncertainty and margin are added to what is required and to what keeps the cache, and named as a part") {
    hpo::PeakPrediction prediction = thousand();
    prediction.uncertainty = 0.05;
    prediction.source = hpo::PeakSource::probe;  // which answered in its place
    const hpo::Estimate found = estimate(DryRun{{.margin = 0.2}}, &prediction);
    CHECK(found.need == 1250);
    CHECK(found.comfort == 1500);
    CHECK(found.source == "probe");
    CHECK(found.parts.back() == EstimatePart{"margin", 250});
}

TEST_CASE("without a prediction the formula answers, and says so") {
    hpo::Profile profile;
    profile.weight_bytes = 100;
    CHECK(estimate(DryRun{}, nullptr, &profile).need == 120);
    CHECK(estimate(DryRun{}, nullptr, &profile).source == "formula");
    CHECK_FALSE(estimate(DryRun{}, nullptr).need);
}

TEST_CASE("a prediction of absurd size saturates") {
    hpo::PeakPrediction prediction;
    prediction.need = prediction.comfort = std::numeric_limits<std::int64_t>::max();
    prediction.uncertainty = 3;
    CHECK(estimate(DryRun{}, &prediction).need == std::int64_t{1} << 62);
}

TEST_CASE("a margin that is no share is refused") { CHECK_THROWS_WITH((DryRun{{.margin = -1}}), "margin: got -1; expected 0 or more"); }
