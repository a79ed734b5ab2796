// SPDX-License-Identifier: MIT
#include "hpo/trainer/sampling_times.hpp"

#include <cmath>
#include <vector>

#include "support/catch.hpp"

namespace {

/// The times of the samples of a training whose steps take `step_seconds`.
std::vector<double> sampled(double seconds, double step_seconds) {
    hpo::SamplingTimes times;
    std::vector<double> taken;
    for (double now = 0; now <= seconds; now += step_seconds) {
        if (times.due(now)) taken.push_back(now);
    }
    return taken;
}

}  // namespace

TEST_CASE("the first step is sampled, and then twice a second for three seconds") {
    CHECK(sampled(0, 1) == std::vector<double>{0});
    CHECK(sampled(3, 0.25) == std::vector<double>{0, 0.5, 1, 1.5, 2, 2.5, 3});
    CHECK(sampled(6, 0.25) == std::vector<double>{0, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 6});
}

TEST_CASE("a day of training leaves no more than a hundred samples, however long its steps are, and is seen to its end") {
    for (const double step_seconds : {0.125, 1.0, 7.0, 60.0, 600.0}) {
        CAPTURE(step_seconds);
        const auto times = sampled(86400, step_seconds);
        CHECK(times.size() <= 96);
        CHECK(times.size() >= 30);
        CHECK(times.back() > 0.75 * 86400);
        for (std::size_t i = 1; i < times.size(); ++i) CHECK(times[i] - times[i - 1] >= 0.5);
    }
}

TEST_CASE("steps that are longer than the interval are each sampled once") {
    CHECK(sampled(40, 10) == std::vector<double>{0, 10, 20, 30, 40});
}
