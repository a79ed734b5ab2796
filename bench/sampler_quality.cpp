// SPDX-License-Identifier: MIT
// What a sampler finds of five functions whose least value is 0, where every number is 1.2: median and quartiles of the best value over
// seeds. sampler_quality.py prints the same of Optuna's samplers. Then the processor time of long studies.
//   sampler_quality [SAMPLER=tpe [TRIALS=200 [SEEDS=15]]]     SAMPLER as --sampler has it
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <functional>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "bench/number_argument.hpp"
#include "hpo/registry/builtins.hpp"
#include "hpo/registry/policy_config.hpp"
#include "hpo/testing/sampler_problems.hpp"

namespace {

using Numbers = std::vector<double>;
using Function = double (*)(const Numbers&);
constexpr double at = 1.2;

double sphere(const Numbers& x) {
    double sum = 0;
    for (const double each : x) sum += (each - at) * (each - at);
    return sum;
}
double ellipsoid(const Numbers& x) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
        sum += std::pow(10, 4.0 * static_cast<double>(i) / static_cast<double>(x.size() - 1)) * (x[i] - at) * (x[i] - at);
    return sum;
}
double rosenbrock(const Numbers& x) {  // moved so that its valley ends there, too
    double sum = 0;
    for (std::size_t i = 0; i + 1 < x.size(); ++i) {
        const double a = x[i] - at + 1, b = x[i + 1] - at + 1;
        sum += 100 * (b - a * a) * (b - a * a) + (1 - a) * (1 - a);
    }
    return sum;
}
double rastrigin(const Numbers& x) {
    double sum = 0;
    for (const double each : x) sum += (each - at) * (each - at) + 10 * (1 - std::cos(2 * std::numbers::pi * (each - at)));
    return sum;
}
double ackley(const Numbers& x) {
    double waves = 0;
    for (const double each : x) waves += std::cos(2 * std::numbers::pi * (each - at));
    const auto n = static_cast<double>(x.size());
    return -20 * std::exp(-0.2 * std::sqrt(sphere(x) / n)) - std::exp(waves / n) + 20 + std::numbers::e;
}

hpo::testing::Problem problem(const std::string& name, Function function, int dimensions) {
    return {name,
            [=](hpo::SpaceTrial& trial) {
                for (int i = 0; i < dimensions; ++i) trial.suggest_float(std::string{'x'}.append(std::to_string(i)), -5, 5);
            },
            [=](const hpo::ParamSet& params) {
                Numbers x;
                for (const hpo::Param& param : params) x.push_back(param.internal);
                return function(x);
            }};
}

int run(const std::string& spec, std::int64_t trials, std::int64_t seeds) {
    const hpo::registry::Registries known = hpo::registry::builtin_registries();
    const auto make = [&] { return known.samplers.make("SAMPLER", hpo::registry::parse_policy_spec("SAMPLER", spec)); };
    const std::vector<std::pair<std::string, Function>> functions{
        {"sphere", &sphere}, {"ellipsoid", &ellipsoid}, {"rosenbrock", &rosenbrock}, {"rastrigin", &rastrigin}, {"ackley", &ackley}};
    for (const auto& [name, function] : functions) {
        for (const int dimensions : {5, 10}) {
            Numbers best;
            for (std::int64_t seed = 0; seed < seeds; ++seed) {
                auto sampler = make();
                const auto finished =
                    hpo::testing::search(sampler, problem(name, function, dimensions), trials, hpo::Seed{static_cast<std::uint64_t>(seed)});
                best.push_back(hpo::best_trial(finished, hpo::Direction::minimize)->values[0]);
            }
            std::ranges::sort(best);
            std::printf("%-10s %2d  %9.4g [%9.4g, %9.4g]\n", name.c_str(), dimensions, best[best.size() / 2], best[best.size() / 4],
                        best[3 * best.size() / 4]);
            std::fflush(stdout);
        }
    }
    for (const auto& [count, dimensions] : {std::pair{1000, 40}, std::pair{10'000, 5}}) {
        auto sampler = make();
        const std::clock_t start = std::clock();
        (void)hpo::testing::search(sampler, problem("speed", &sphere, dimensions), count, hpo::Seed{0});
        std::printf("%d trials of %d numbers: %.2f s of processor time\n", count, dimensions,
                    static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const bench::NumberArguments numbers{argc, argv, 3, "sampler_quality [SAMPLER [TRIALS [SEEDS]]]"};
    try {
        return run(argc > 1 ? argv[1] : "tpe", numbers.at(2, {.standard = 200, .least = 1}), numbers.at(3, {.standard = 15, .least = 1}));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "sampler_quality: error: %s\n", error.what());
        return 2;
    }
}
