// SPDX-License-Identifier: MIT
#include "hpo/memory/calibration/normal_tail.hpp"

#include "support/catch.hpp"

using namespace hpo::memory;

TEST_CASE("quantiles of the normal and of Student's are those of the tables") {
    CHECK(normal_quantile(0.5) == Approx(0).margin(1e-12));
    CHECK(normal_quantile(0.975) == Approx(1.959963984540054).epsilon(1e-12));
    CHECK(normal_quantile(0.001) == Approx(-3.090232306167813).epsilon(1e-12));
    CHECK(normal_quantile(1e-9) == Approx(-5.997807015007686).epsilon(1e-9));
    CHECK(student_quantile(0.99, 3) == Approx(4.540703).epsilon(0.02));
    CHECK(student_quantile(0.99, 5) == Approx(3.364930).epsilon(0.005));
    CHECK(student_quantile(0.95, 10) == Approx(1.812461).epsilon(1e-4));
    CHECK(student_quantile(0.8, 30) == Approx(0.853767).epsilon(1e-5));
    CHECK(student_quantile(0.2, 30) == Approx(-0.853767).epsilon(1e-5));
    CHECK(student_quantile(0.99, 1e9) == Approx(2.326348).epsilon(1e-6));
}

TEST_CASE("the hazard is the mean of what lies beyond") {
    CHECK(normal_hazard(0) == Approx(0.7978845608028654));
    CHECK(normal_hazard(2) == Approx(2.373215532822843));
    CHECK(normal_hazard(-40) == Approx(0).margin(1e-300));
    CHECK(normal_hazard(29.999) == Approx(normal_hazard(30.001)).epsilon(2e-4));
    CHECK(normal_hazard(1000) == Approx(1000.001));
}
