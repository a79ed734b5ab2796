// SPDX-License-Identifier: MIT
#include "hpo/guard/calibration/posterior.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "guard/residual_generator.hpp"
#include "hpo/core/seed.hpp"
#include "support/catch.hpp"

using namespace hpo::tests;

namespace {

/// Within 5 points at 0.5, 0.8 and 0.95, and at most 2 % above the 0.99 quantile.
void check(const Coverage& coverage) {
    for (std::size_t i = 0; i < 3; ++i) {
        INFO("level " << Coverage::levels[i]);
        CHECK(coverage.share(i) == Approx(Coverage::levels[i]).margin(0.05));
    }
    CHECK(1 - coverage.share(3) <= 0.02);
}

}  // namespace

TEST_CASE("quantiles hold on families that were never seen") {
    for (const ResidualPrior& prior : {tight, wide}) {
        INFO("prior " << prior.centre);
        check(of_unseen_families(prior, {}));
        check(of_unseen_families(prior, {.censored = true}));
    }
}

TEST_CASE("quantiles hold where the prediction is half or twice the truth") {
    check(of_unseen_families(tight, {.bias = 0.5, .censored = true}));
    check(of_unseen_families(tight, {.bias = 2, .censored = true}));
    check(of_unseen_families(wide, {.bias = 0.5, .censored = true}));
    check(of_unseen_families(wide, {.bias = 2, .censored = true}));
}

TEST_CASE("quantiles hold while the truth moves") {
    const Coverage steady = of_a_stream(tight, {.censored = true});
    check(steady);
    CHECK(steady.refusals / steady.shown == Approx(0.3).margin(0.02));
    check(of_a_stream(tight, {.censored = true, .step = 0.2}));
    check(of_a_stream(tight, {.censored = true, .step = -0.2}));
    check(of_a_stream(tight, {.censored = true, .slope = 0.2}));
}

TEST_CASE("heavy tails do not break the 0.99 quantile") {
    const Coverage coverage = of_a_stream(tight, {.heavy_tails = true});
    CHECK(1 - coverage.share(3) <= 0.02);
}

TEST_CASE("taking a bound for an observation would predict too little") {
    const Coverage coverage = of_unseen_families(tight, {.censored = true, .bounds_are_observations = true});
    CHECK(coverage.share(1) < 0.75);
    CHECK(1 - coverage.share(3) > 0.02);
}

TEST_CASE("residuals of another shape are found not to fit, and the quantiles become those of recent ones") {
    // One in twelve needs half as much again, the others exactly what was predicted: no normal, and none at 0.95.
    hpo::Rng rng = hpo::Seed{7}.rng();
    ResidualPosterior posterior{tight, 60};
    CHECK_FALSE(posterior.misfit());
    double above = 0;
    double misfits = 0;
    for (int i = 0; i < 1000; ++i) {
        const double residual = rng.below(12) == 0 ? 0.4 : 0.001 * rng.uniform();
        if (i >= 200) {
            above += residual > posterior.quantile("f", 0.99) ? 1 : 0;
            misfits += posterior.misfit() ? 1 : 0;
        }
        posterior.observe("f", residual, false);
    }
    CHECK(misfits > 400);
    CHECK(above / 800 <= 0.02);
}

TEST_CASE("where the model does not fit, what is rarer than all recent residuals is not excluded") {
    // Of each configuration's eight attempts all are off by the same: far fewer independent residuals than the model takes them for.
    hpo::Rng rng = hpo::Seed{11}.rng();
    ResidualPosterior posterior{tight, 60};
    int looked = 0;
    double least = 0;
    for (int i = 0; i < 600; ++i) {
        const double off = 0.2 * (rng.uniform() - 0.5);
        least = std::min(least, off);
        for (int again = 0; again < 8; ++again) posterior.observe("f", off, false);
        if (i < 20 || !posterior.misfit()) continue;
        ++looked;
        CHECK(posterior.quantile("f", 0.02) >= least - 0.05);
        CHECK(posterior.quantile("f", 1e-5) < -0.2);
        CHECK(posterior.quantile("f", 1e-5) < posterior.quantile("f", 1e-3));
        CHECK(posterior.quantile("f", 1e-3) <= posterior.quantile("f", 0.02));
        CHECK(posterior.quantile("f", 1 - 1e-5) > posterior.quantile("f", 0.99));
    }
    CHECK(looked > 5);
}

TEST_CASE("attempts that only ran out of memory raise what is predicted") {
    ResidualPosterior posterior{tight, 60};
    double last = posterior.quantile("f", 0.99);
    for (int i = 0; i < 6; ++i) {
        posterior.observe("f", 0.3, true);
        CHECK(std::isfinite(posterior.quantile("f", 0.99)));
    }
    CHECK(posterior.quantile("f", 0.5) > 0.3);
    CHECK(posterior.quantile("f", 0.99) > last);
    // One that is known to be below its bound says little: nobody thought otherwise.
    ResidualPosterior sure{tight, 60};
    for (int i = 0; i < 20; ++i) sure.observe("f", 0.01 * (i % 3), false);
    last = sure.quantile("f", 0.99);
    sure.observe("f", -1, true);
    CHECK(sure.quantile("f", 0.99) == Approx(last).margin(0.01));
}

TEST_CASE("the more a family has shown, the less it is like the others") {
    ResidualPosterior posterior{wide, 60};
    for (int i = 0; i < 30; ++i) posterior.observe("a", 0.01 * (i % 5), false);
    for (int i = 0; i < 30; ++i) posterior.observe("b", 0.1 + 0.01 * (i % 5), false);
    posterior.observe("c", 0.5, false);
    CHECK(posterior.forecast("a").centre == Approx(0.02).margin(0.01));
    CHECK(posterior.forecast("b").centre == Approx(0.12).margin(0.01));
    const double unseen = posterior.forecast("d").centre;
    CHECK(posterior.forecast("c").centre > unseen);
    CHECK(posterior.forecast("c").centre < 0.5);
    CHECK(posterior.quantile("a", 0.99) < 0.08);
    CHECK(posterior.quantile("d", 0.99) > posterior.quantile("a", 0.99));
}

TEST_CASE("absurd residuals leave finite quantiles") {
    ResidualPosterior posterior{tight, 60};
    for (const double residual : {0.0, 40.0, -40.0, 40.0, 1e-300, 0.0}) {
        for (const bool censored : {false, true}) {
            posterior.observe("f", residual, censored);
            for (const double level : {0.5, 0.99, 0.999999}) CHECK(std::isfinite(posterior.quantile("f", level)));
        }
    }
}
