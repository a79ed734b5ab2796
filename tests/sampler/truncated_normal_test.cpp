// SPDX-License-Identifier: MIT
#include "hpo/sampler/truncated_normal.hpp"

#include "hpo/base/normal_quantile.hpp"
#include "hpo/core/seed.hpp"
#include "support/catch.hpp"

using namespace hpo::sampler;  // NOLINT: a test of this namespace
using hpo::normal_quantile;

// Reference values: mpmath with 80 digits and more.

TEST_CASE("the log of the normal distribution function is exact from one tail to the other") {
    const auto relative = [](double value) { return Approx(value).epsilon(1e-13); };
    CHECK(log_normal_cdf(-200) == relative(-20006.21728089819));
    CHECK(log_normal_cdf(-40) == relative(-804.60844201375379));
    CHECK(log_normal_cdf(-30.5) == relative(-469.46273732291211));
    CHECK(log_normal_cdf(-29.5) == relative(-439.42947460915023));
    CHECK(log_normal_cdf(-5) == relative(-15.064998393988726));
    CHECK(log_normal_cdf(0) == relative(-0.69314718055994531));
    CHECK(log_normal_cdf(1) == relative(-0.17275377902344989));
    CHECK(log_normal_cdf(5) == Approx(-2.8665161296376359e-7).epsilon(1e-9));
    CHECK(log_normal_cdf(7) == relative(-1.279812543886654e-12));
    CHECK(log_normal_cdf(9) == relative(-1.1285884059538406e-19));
    CHECK(log_normal_cdf(-HUGE_VAL) == -HUGE_VAL);
    CHECK(log_normal_cdf(HUGE_VAL) == 0);
}

TEST_CASE("the log of an interval's mass is exact in both tails") {
    CHECK(log_normal_mass(-1, 1) == Approx(-0.38171514630212607).epsilon(1e-13));
    CHECK(log_normal_mass(3, 4) == Approx(-6.6314677865382251).epsilon(1e-13));
    CHECK(log_normal_mass(-4, -3) == Approx(-6.6314677865382251).epsilon(1e-13));
    CHECK(log_normal_mass(50, 60) == Approx(-1254.8313611394199).epsilon(1e-13));
    CHECK(log_normal_mass(-60, -50) == Approx(-1254.8313611394199).epsilon(1e-13));
    CHECK(log_normal_mass(-0.5, 2) == Approx(-0.40240131233857512).epsilon(1e-13));
    CHECK(log_normal_mass(8, 8.5) == Approx(-35.028792508579748).epsilon(1e-13));
}

TEST_CASE("quantiles of the normal distribution are right to the last digits") {
    const auto exact = [](double value) { return Approx(value).epsilon(1e-14); };
    CHECK(normal_quantile(1e-300) == exact(-37.0470962993612));
    CHECK(normal_quantile(1e-10) == exact(-6.361340902404056));
    CHECK(normal_quantile(0.025) == exact(-1.9599639845400538));
    CHECK(normal_quantile(0.3) == exact(-0.5244005127080407));
    CHECK(normal_quantile(0.5) == 0);
    CHECK(normal_quantile(0.9) == exact(1.2815515655446008));
    CHECK(normal_quantile(0.999) == exact(3.090232306167813));
}

TEST_CASE("quantiles of a truncated normal are right in its middle and in its tails") {
    CHECK(truncated_normal_quantile(0.5, -1, 1) == Approx(0).margin(1e-9));
    CHECK(truncated_normal_quantile(0.25, -1, 2) == Approx(-0.34964142929247).epsilon(1e-8));
    CHECK(truncated_normal_quantile(0.9, 3, 4) == Approx(3.5929241113156).epsilon(1e-8));
    CHECK(truncated_normal_quantile(0.1, -60, -50) == Approx(-50.046012148959).epsilon(1e-8));
    CHECK(truncated_normal_quantile(0.1, 50, 60) == Approx(50.002106324108).epsilon(1e-8));
    CHECK(truncated_normal_quantile(0.999, -2, 8) == Approx(3.0970605095983).epsilon(1e-8));
    CHECK(truncated_normal_quantile(0, -1, 2) == Approx(-1));
}

TEST_CASE("a quantile never leaves its interval, and inverts the distribution function") {
    hpo::Rng rng{7};
    for (int i = 0; i < 20'000; ++i) {
        const double a = (rng.uniform() - 0.5) * 200;
        const double b = a + std::exp(rng.uniform() * 12 - 8);
        const double q = rng.uniform();
        const double x = truncated_normal_quantile(q, a, b);
        REQUIRE(x >= a);
        REQUIRE(x <= b);
        if (q > 1e-3 && x > a && x < b && x - a > 1e-6 * std::fabs(a)) {
            CAPTURE(q, a, b);
            // Far in a tail 1e-9 of x is 1e-9 * x^2 of its density.
            REQUIRE(log_normal_mass(a, x) - log_normal_mass(a, b) == Approx(std::log(q)).margin(1e-3));
        }
    }
}
