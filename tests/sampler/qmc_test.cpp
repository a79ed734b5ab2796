// SPDX-License-Identifier: MIT
#include "hpo/sampler/qmc.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "hpo/sampler/suggest.hpp"
#include "support/catch.hpp"

using hpo::sampler::Halton;
using hpo::sampler::Qmc;
using hpo::sampler::Sobol;

namespace {

const hpo::History of_no_trials{};

/// The values in [0, 1] of `dimensions` parameters for trials 0, 1, ...
std::vector<std::vector<double>> points(Qmc sampler, std::size_t count, int dimensions, std::uint64_t seed = 1) {
    const auto space = [&](hpo::SpaceTrial& trial) {
        for (int d = 0; d < dimensions; ++d) trial.suggest_float("x" + std::to_string(d), 0, 1);
    };
    std::vector<std::vector<double>> found;
    for (std::size_t i = 0; i < count; ++i) {
        std::vector<double>& point = found.emplace_back();
        const hpo::TrialContext context{.number = static_cast<std::int64_t>(i), .history = of_no_trials};
        for (const hpo::Param& param : hpo::suggest_params(sampler, space, context, hpo::Seed{seed})) point.push_back(param.internal);
    }
    return found;
}

}  // namespace

TEST_CASE("Sobol's points are those of Joe and Kuo's direction numbers") {
    // scipy 1.17.1: scipy.stats.qmc.Sobol(64, scramble=False).random(1024)[i][d]
    constexpr std::array<std::array<double, 5>, 8> first{{{0, 0, 0, 0, 0},
                                                          {0.5, 0.5, 0.5, 0.5, 0.5},
                                                          {0.75, 0.25, 0.25, 0.25, 0.75},
                                                          {0.25, 0.75, 0.75, 0.75, 0.25},
                                                          {0.375, 0.375, 0.625, 0.875, 0.375},
                                                          {0.875, 0.875, 0.125, 0.375, 0.875},
                                                          {0.625, 0.125, 0.875, 0.625, 0.625},
                                                          {0.125, 0.625, 0.375, 0.125, 0.125}}};
    for (std::uint32_t i = 0; i < first.size(); ++i) {
        for (std::size_t d = 0; d < 5; ++d) CHECK(Sobol::coordinate(i, d) * 0x1.0p-32 == first[i][d]);
    }
    struct Late {
        std::uint32_t index;
        std::size_t dimension;
        double value;
    };
    for (const Late& late :
         {Late{100, 0, 0.4140625},      Late{100, 1, 0.2578125},      Late{100, 2, 0.7734375},      Late{100, 9, 0.6953125},
          Late{100, 20, 0.7578125},     Late{100, 33, 0.2578125},     Late{100, 50, 0.8828125},     Late{100, 63, 0.6484375},
          Late{777, 0, 0.6923828125},   Late{777, 1, 0.9365234375},   Late{777, 2, 0.1630859375},   Late{777, 9, 0.3232421875},
          Late{777, 20, 0.2373046875},  Late{777, 33, 0.0029296875},  Late{777, 50, 0.0830078125},  Late{777, 63, 0.4267578125},
          Late{1023, 0, 0.0009765625},  Late{1023, 1, 0.7529296875},  Late{1023, 2, 0.6123046875},  Late{1023, 9, 0.8505859375},
          Late{1023, 20, 0.8662109375}, Late{1023, 33, 0.8740234375}, Late{1023, 50, 0.2587890625}, Late{1023, 63, 0.0400390625}}) {
        CAPTURE(late.index, late.dimension);
        CHECK(Sobol::coordinate(late.index, late.dimension) * 0x1.0p-32 == late.value);
    }
}

TEST_CASE("Halton's points are radical inverses in prime bases") {
    for (const auto& [index, dimension, value] :
         std::vector<std::tuple<std::uint64_t, std::size_t, double>>{{0, 0, 0},
                                                                     {1, 0, 1.0 / 2},
                                                                     {2, 0, 1.0 / 4},
                                                                     {3, 0, 3.0 / 4},
                                                                     {4, 0, 1.0 / 8},
                                                                     {1, 1, 1.0 / 3},
                                                                     {2, 1, 2.0 / 3},
                                                                     {3, 1, 1.0 / 9},
                                                                     {4, 1, 4.0 / 9},
                                                                     {1, 2, 1.0 / 5},
                                                                     {5, 2, 1.0 / 25},
                                                                     {1, 63, 1.0 / 311},
                                                                     {312, 63, 1.0 / 311 + 1.0 / 311 / 311}})
        CHECK(Halton::coordinate(index, dimension) == Approx(value));
    double highest = 0;
    for (std::uint64_t i = 0; i < 5000; ++i) highest = std::max(highest, Halton::scrambled(i, 60, hpo::Seed{i}));
    CHECK(highest < 1);
}

TEST_CASE("each dimension of 2^m trials has one value in each of 2^m equal parts, scrambled or not") {
    for (const bool scramble : {true, false}) {
        const auto all = points(Qmc{{.sequence = "sobol", .scramble = scramble}}, 64, 70);
        for (std::size_t d = 0; d < 64; ++d) {  // beyond stands padding, which keeps this too
            std::set<int> parts;
            for (const auto& point : all) parts.insert(static_cast<int>(point[d] * 64));
            CAPTURE(scramble, d);
            CHECK(parts.size() == 64);
        }
    }
    const auto halton = points(Qmc{{.sequence = "halton"}}, 81, 4);
    std::set<int> thirds;
    for (const auto& point : halton) thirds.insert(static_cast<int>(point[1] * 81));
    CHECK(thirds.size() == 81);
}

TEST_CASE("the first two coordinates of Sobol's points are a net: every box of one share has one point") {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        const auto all = points(Qmc{}, 256, 2, seed);
        for (int wide = 1; wide <= 256; wide *= 2) {
            std::set<int> boxes;
            const int high = 256 / wide;
            for (const auto& point : all) boxes.insert(static_cast<int>(point[0] * wide) * high + static_cast<int>(point[1] * high));
            CHECK(boxes.size() == 256);
        }
    }
}

TEST_CASE("a scrambled mean of a smooth function is far nearer to the truth than one of random points") {
    const auto error = [](const std::vector<std::vector<double>>& all) {
        double sum = 0;
        for (const auto& point : all) {
            double product = 1;
            for (const double x : point) product *= 1 + (x - 0.5);  // its integral is 1
            sum += product;
        }
        return std::fabs(sum / static_cast<double>(all.size()) - 1);
    };
    // The standard error of 1024 random points is sqrt((1 + 1 / 12)^d - 1) / 32: 0.030 and 0.019.
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
        CHECK(error(points(Qmc{}, 1024, 8, seed)) < 0.003);
        CHECK(error(points(Qmc{{.sequence = "halton"}}, 1024, 4, seed)) < 0.004);
    }
}

TEST_CASE("the seed chooses the points, and parameters beyond the dimensions do not repeat the first") {
    const auto all = points(Qmc{}, 64, 130, 5);
    CHECK(points(Qmc{}, 64, 130, 5) == all);
    CHECK(points(Qmc{}, 64, 130, 6) != all);
    for (const std::size_t d : {std::size_t{0}, std::size_t{1}, std::size_t{7}}) {
        double covariance = 0;
        for (const auto& point : all) covariance += (point[d] - 0.5) * (point[d + 64] - 0.5);
        CHECK(std::fabs(covariance / 64 * 12) < 0.4);
    }
}

TEST_CASE("a refused proposal is followed by another point") {
    Qmc sampler;
    const auto upper_half = [](hpo::SpaceTrial& trial) { trial.require(trial.suggest_float("x", 0, 1) > 0.9, "x is too small"); };
    std::set<double> found;
    for (std::int64_t number = 0; number < 20; ++number) {
        const hpo::TrialContext context{.number = number, .history = of_no_trials};
        for (const int round : {0, 1})
            found.insert(hpo::suggest_params(sampler, upper_half, context, hpo::Seed{3}, {}, round).number("x").value());
    }
    CHECK(found.size() == 40);
}

TEST_CASE("qmc refuses another sequence") { CHECK_THROWS_WITH(Qmc{{.sequence = "sobel"}}, Catch::Contains("sobol or halton")); }
