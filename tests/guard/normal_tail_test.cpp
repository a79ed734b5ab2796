// SPDX-License-Identifier: MIT
#include "hpo/guard/calibration/normal_tail.hpp"

#include "hpo/base/normal_quantile.hpp"
#include "support/catch.hpp"

using namespace hpo::guard;
using hpo::normal_quantile;

TEST_CASE("quantiles of the normal and of Student's are those of the tables") {
    CHECK(normal_quantile(0.5) == Approx(0).margin(1e-12));
    CHECK(normal_quantile(0.975) == Approx(1.959963984540054).epsilon(1e-12));
    CHECK(normal_quantile(0.001) == Approx(-3.090232306167813).epsilon(1e-12));
    CHECK(normal_quantile(1e-9) == Approx(-5.997807015007686).epsilon(1e-9));
    struct Known {
        double probability, freedom, quantile;
    };
    for (const auto& [probability, freedom, quantile] :
         {Known{0.6, 3, 0.2766706623326898}, Known{0.95, 3, 2.3533634348018233}, Known{0.99, 3, 4.540702858568132},
          Known{0.9999, 3, 22.203742273205}, Known{1 - 1e-6, 3, 103.29946777942898}, Known{1 - 1e-9, 3, 1033.1096842432753},
          Known{0.8, 3.7, 0.9498778242960849}, Known{1 - 1e-6, 3.7, 51.6400502740409}, Known{0.99, 5, 3.3649299989072174},
          Known{1 - 1e-9, 5, 98.93722520824214}, Known{0.95, 10, 1.8124611228116756}, Known{1 - 1e-6, 10, 9.751995490909856},
          Known{0.8, 30, 0.8537672614712979}, Known{1 - 1e-9, 30, 8.445862807441596}, Known{0.6, 200, 0.25368437919014747},
          Known{1 - 1e-9, 200, 6.286347432114155}}) {
        CAPTURE(probability, freedom);
        CHECK(student_quantile(probability, freedom) == Approx(quantile).epsilon(1e-7));
        CHECK(student_quantile(1 - probability, freedom) == Approx(-quantile).epsilon(1e-7));
    }
    CHECK(student_quantile(0.5, 4) == Approx(0).margin(1e-9));
    CHECK(student_quantile(0.99, 1e9) == Approx(2.326348).epsilon(1e-6));
}

TEST_CASE("the hazard is the mean of what lies beyond") {
    CHECK(normal_hazard(0) == Approx(0.7978845608028654));
    CHECK(normal_hazard(2) == Approx(2.373215532822843));
    CHECK(normal_hazard(-40) == Approx(0).margin(1e-300));
    CHECK(normal_hazard(29.999) == Approx(normal_hazard(30.001)).epsilon(2e-4));
    CHECK(normal_hazard(1000) == Approx(1000.001));
}
