// SPDX-License-Identifier: MIT
#include "hpo/sampler/pareto_fronts.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <vector>

#include "hpo/core/seed.hpp"
#include "support/catch.hpp"

using hpo::sampler::dominated_volume;
using hpo::sampler::dominates;
using hpo::sampler::free_cells;
using hpo::sampler::ParetoFronts;

TEST_CASE("Free cells fill what no point dominates") {
    const std::vector<double> reference{4, 4};
    const auto cells = free_cells({{1, 3}, {2, 2}, {3, 1}}, reference);
    CHECK(dominated_volume(cells, std::vector<double>{0, 0}) == Approx(16 - 6));  // the front dominates 1 + 2 + 3 squares
    CHECK(dominated_volume(cells, std::vector<double>{1.5, 1.5}) == Approx(1.25));
    CHECK(dominated_volume(cells, std::vector<double>{3, 3}) == 0);
    const auto cube = free_cells({{1, 2, 3}, {2, 3, 1}, {3, 1, 2}}, {4, 4, 4});
    // Each point alone dominates 3 * 2 * 1 = 6; two together 2, as 2 * 1 * 1 in some order; all three 1.
    CHECK(dominated_volume(cube, std::vector<double>{0, 0, 0}) == Approx(64 - (18 - 6 + 1)));
}

TEST_CASE("Fronts that grow are those that are sorted at once") {
    for (const std::size_t objectives : {2U, 3U, 5U}) {
        hpo::Rng rng{objectives};
        ParetoFronts fronts;
        std::vector<std::vector<double>> all;
        for (std::size_t id = 0; id < 120; ++id) {
            std::vector<double> values;
            for (std::size_t m = 0; m < objectives; ++m) values.push_back(std::floor(12 * rng.uniform()));  // equal ones, too
            all.push_back(values);
            fronts.add({id, values});
            // By the definition: peel off what nothing that is left dominates.
            std::set<std::size_t> left;
            for (std::size_t i = 0; i < all.size(); ++i) left.insert(i);
            std::size_t place = 0;
            for (; !left.empty(); ++place) {
                std::set<std::size_t> expected, found;
                for (const std::size_t i : left) {
                    if (std::none_of(left.begin(), left.end(), [&](std::size_t j) { return dominates(all[j], all[i]); }))
                        expected.insert(i);
                }
                REQUIRE(place < fronts.fronts().size());
                for (const ParetoFronts::Member& member : fronts.fronts()[place]) found.insert(member.id);
                REQUIRE(found == expected);
                for (const std::size_t i : expected) left.erase(i);
            }
            REQUIRE(fronts.fronts().size() == place);
        }
    }
}

TEST_CASE("The best are whole fronts, and of the last one those that dominate most") {
    ParetoFronts fronts;
    fronts.add({0, {1, 9}});
    fronts.add({1, {9, 1}});
    fronts.add({2, {4, 4}});
    fronts.add({3, {1.5, 8.9}});
    fronts.add({4, {20, 20}});
    const auto best = [&](std::size_t count) {
        std::vector<std::size_t> ids = fronts.best(count);
        std::sort(ids.begin(), ids.end());
        return ids;
    };
    using Ids = std::vector<std::size_t>;
    CHECK(best(0).empty());
    CHECK(best(1) == Ids{2});  // alone it dominates most
    CHECK(best(3) == Ids{0, 1, 2});
    CHECK(best(4) == Ids{0, 1, 2, 3});
    CHECK(best(9) == Ids{0, 1, 2, 3, 4});
}

TEST_CASE("The greedy choice of one front is the one that looks at all points each time") {
    hpo::Rng rng{3};
    ParetoFronts fronts;
    std::vector<std::vector<double>> points;
    for (std::size_t id = 0; id < 40; ++id) {
        const double angle = rng.uniform() * std::acos(0.0);
        points.push_back({1 - std::cos(angle), 1 - std::sin(angle)});
        fronts.add({id, points.back()});
    }
    REQUIRE(fronts.fronts().size() == 1);
    std::vector<double> reference{0, 0};
    for (const auto& point : points) {
        for (std::size_t m = 0; m < 2; ++m) reference[m] = std::max(reference[m], 1.1 * point[m]);
    }
    std::vector<std::size_t> expected;
    std::vector<std::vector<double>> taken;
    while (expected.size() < 10) {
        const auto cells = free_cells(taken, reference);
        std::size_t most = 0;
        double volume = -1;
        for (std::size_t i = 0; i < points.size(); ++i) {
            const double its = std::find(expected.begin(), expected.end(), i) == expected.end() ? dominated_volume(cells, points[i]) : -1;
            if (its > volume) most = i, volume = its;
        }
        expected.push_back(most);
        taken.push_back(points[most]);
    }
    CHECK(fronts.best(10) == expected);
}

TEST_CASE("Of many objectives those are chosen that lie far from each other, and infinite values are no trouble") {
    ParetoFronts fronts;
    fronts.add({0, {0, 1, 1, 1}});
    fronts.add({1, {0.01, 0.99, 1, 1}});
    fronts.add({2, {1, 0, 1, 1}});
    fronts.add({3, {1, 1, 0, HUGE_VAL}});
    CHECK(fronts.best(3) == std::vector<std::size_t>{0, 2, 3});
    ParetoFronts infinite;
    infinite.add({0, {HUGE_VAL, -HUGE_VAL}});
    infinite.add({1, {-HUGE_VAL, HUGE_VAL}});
    CHECK(infinite.best(1).size() == 1);
}
