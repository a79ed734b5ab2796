// SPDX-License-Identifier: MIT
#include "hpo/guard/virtual_card.hpp"

#include "guard/nothing.hpp"
#include "support/catch.hpp"

using hpo::Evidence;
using hpo::guard::VirtualCard;
using hpo::tests::no_params;
using hpo::tests::no_plan;

TEST_CASE("what a virtual card took is the estimate, with its uncertainty") {
    hpo::PeakPrediction prediction;
    prediction.source = hpo::PeakSource::virtual_card;
    prediction.need = prediction.comfort = 1000;
    prediction.uncertainty = 0.01;
    const hpo::Estimate found = VirtualCard{}.estimate({no_params, no_plan, nullptr, std::nullopt, hpo::History{}, &prediction});
    CHECK(VirtualCard{}.evidence() == Evidence::virtual_card);
    CHECK(found.need == 1010);
    CHECK(found.source == "virtual_card");
    CHECK_THROWS_WITH((VirtualCard{{.margin = -0.5}}), "margin: got -0.5; expected 0 or more");
}

TEST_CASE("a virtual card that was often too low is not asked any more, and a dry run is") {
    const auto trial_that_took = [](std::int64_t estimated, std::int64_t took) {
        hpo::Attempt attempt;
        attempt.plan = no_plan;
        attempt.estimate = hpo::Estimate{.need = estimated, .source = "virtual_card"};
        attempt.outcome = hpo::OutcomeKind::complete;
        attempt.peak_reserved = took;
        hpo::Trial trial;
        trial.attempts.push_back(attempt);
        return trial;
    };
    const auto asked_after = [&](int low, int right) {
        std::vector<hpo::Trial> trials;
        for (int i = 0; i < low; ++i) trials.push_back(trial_that_took(1000, 1100));
        for (int i = 0; i < right; ++i) trials.push_back(trial_that_took(1000, 1000));
        hpo::History history;
        history.trials = trials;
        return VirtualCard{}.evidence({no_params, no_plan, nullptr, std::nullopt, history});
    };
    CHECK(asked_after(2, 0) == Evidence::virtual_card);
    CHECK(asked_after(3, 4) == Evidence::virtual_card);
    CHECK(asked_after(3, 3) == Evidence::dry_run);
}
