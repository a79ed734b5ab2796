// SPDX-License-Identifier: MIT
// Whether the quantiles that the calibrated guard learns hold: shares of residuals below the predicted quantiles of 0.5, 0.8 and 0.95, and
// above that of 0.99, on simulated families of predictions (tests/guard/residual_generator.hpp). Prints a table.
//
//     residual_coverage [first seed] [seeds]
#include <cstdint>
#include <cstdio>

#include "bench/number_argument.hpp"
#include "tests/guard/residual_generator.hpp"

using namespace hpo::tests;

namespace {

void print(const char* what, const Coverage& coverage) {
    std::printf("| %s | %.0f %% | %.1f %% | %.1f %% | %.1f %% | %.2f %% |\n", what, 100 * coverage.refusals / coverage.shown,
                100 * coverage.share(0), 100 * coverage.share(1), 100 * coverage.share(2), 100 * (1 - coverage.share(3)));
}

}  // namespace

int main(int argc, char** argv) {
    const bench::NumberArguments numbers{argc, argv, 2, "residual_coverage [first seed] [seeds]"};
    const Seeds seeds{.first = static_cast<std::uint64_t>(numbers.at(1, {.standard = 1000})),
                      .count = static_cast<std::uint64_t>(numbers.at(2, {.standard = 100, .least = 1}))};
    std::printf("| residuals | censored | below 0.5 | below 0.8 | below 0.95 | above 0.99 |\n|---|---:|---:|---:|---:|---:|\n");
    print("families that were never seen", of_unseen_families(tight, {}, seeds));
    print("the same, some out of memory", of_unseen_families(tight, {.censored = true}, seeds));
    print("predictions half the truth", of_unseen_families(tight, {.bias = 0.5, .censored = true}, seeds));
    print("predictions twice the truth", of_unseen_families(tight, {.bias = 2, .censored = true}, seeds));
    print("half the truth, by the formula", of_unseen_families(wide, {.bias = 0.5, .censored = true}, seeds));
    print("twice the truth, by the formula", of_unseen_families(wide, {.bias = 2, .censored = true}, seeds));
    print("a stream of known and new families", of_a_stream(tight, {.censored = true}, seeds));
    print("a stream that jumps up by 22 %", of_a_stream(tight, {.censored = true, .step = 0.2}, seeds));
    print("a stream that jumps down by 18 %", of_a_stream(tight, {.censored = true, .step = -0.2}, seeds));
    print("a stream that drifts up by 22 %", of_a_stream(tight, {.censored = true, .slope = 0.2}, seeds));
    print("a stream with heavy tails", of_a_stream(tight, {.heavy_tails = true}, seeds));
    print("bounds taken for measurements (wrong)", of_unseen_families(tight, {.censored = true, .bounds_are_observations = true}, seeds));
}
