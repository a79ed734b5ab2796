// SPDX-License-Identifier: MIT
// Prints what the samplers find in 100 and 200 trials (median and quartiles of 20 seeds), and the processor time that TPE takes.
#include <cstdio>
#include <ctime>

#include "hpo/sampler/random.hpp"
#include "hpo/sampler/tpe.hpp"
#include "hpo/testing/sampler_problems.hpp"

namespace {

using hpo::testing::Problem;

template <class S>
void print_quality(const Problem& problem) {
    std::printf("%-12s %-8s", problem.name.c_str(), std::string{S::name}.c_str());
    for (const int trials : {100, 200}) {
        const auto best = hpo::testing::best_values<S>(problem, trials, 20);
        std::printf("  %4d trials: %9.4g [%9.4g, %9.4g]", trials, (best[9] + best[10]) / 2, best[4], best[14]);
    }
    std::printf("\n");
    std::fflush(stdout);
}

double seconds_for(int parameters, int trials) {
    const Problem problem{"speed",
                          [=](hpo::SpaceTrial& trial) {
                              for (int i = 0; i < parameters; ++i) trial.suggest_float(std::string{'x'}.append(std::to_string(i)), -5, 5);
                          },
                          [](const hpo::ParamSet& params) {
                              double sum = 0;
                              for (const hpo::Param& param : params) sum += param.internal * param.internal;
                              return sum;
                          }};
    hpo::sampler::Tpe tpe;
    const std::clock_t start = std::clock();
    (void)hpo::testing::search(tpe, problem, trials, hpo::Seed{0});
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

}  // namespace

int main() {
    for (const Problem& problem : {hpo::testing::sphere(), hpo::testing::rosenbrock(), hpo::testing::rastrigin(), hpo::testing::ackley(),
                                   hpo::testing::branin(), hpo::testing::mixed()}) {
        print_quality<hpo::sampler::Random>(problem);
        print_quality<hpo::sampler::Tpe>(problem);
    }
    for (const int parameters : {10, 40}) {
        const double seconds = seconds_for(parameters, 1000);
        std::printf("1000 trials of %d parameters: %.2f s of processor time, %.3f ms a trial\n", parameters, seconds, seconds);
    }
}
