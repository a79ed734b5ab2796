// SPDX-License-Identifier: MIT
#include "hpo/sampler/cmaes.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "hpo/sampler/cma_restarts.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/sampler/tpe.hpp"
#include "support/catch.hpp"

using hpo::sampler::AdaptedRate;
using hpo::sampler::CmaDistribution;
using hpo::sampler::Cmaes;
using hpo::sampler::CmaRestarts;
using hpo::sampler::eigen_system;

namespace {

constexpr std::array minimised{hpo::Direction::minimize};
using Objective = std::function<double(const hpo::ParamSet&)>;

void run(Cmaes& sampler, const hpo::Space& space, const Objective& objective, std::vector<hpo::Trial>& trials, std::size_t count,
         std::uint64_t seed = 1) {
    while (trials.size() < count) {
        const hpo::History history{"study", minimised, trials, {}};
        hpo::Trial trial;
        trial.number = std::ssize(trials);
        trial.params = hpo::suggest_params(sampler, space, {.number = trial.number, .history = history}, hpo::Seed{seed});
        trial.state = hpo::TrialState::complete;
        trial.values = {objective(trial.params)};
        trial.completed = hpo::Time{std::chrono::microseconds{trial.number}};
        trials.push_back(std::move(trial));
    }
}

double best(const std::vector<hpo::Trial>& trials) {
    double least = HUGE_VAL;
    for (const auto& trial : trials) least = std::min(least, trial.values[0]);
    return least;
}

hpo::Space box(int dimensions) {
    return [dimensions](hpo::SpaceTrial& trial) {
        for (int d = 0; d < dimensions; ++d) trial.suggest_float("x" + std::to_string(d), -5, 5);
    };
}

double ellipsoid(const hpo::ParamSet& params) {
    double sum = 0, weight = 1;
    for (const hpo::Param& param : params) {
        sum += weight * (param.internal - 1.3) * (param.internal - 1.3);
        weight *= 10;
    }
    return sum;
}

double rastrigin(const hpo::ParamSet& params) {
    double sum = 0;
    for (const hpo::Param& param : params) {
        const double x = param.internal - 0.4;
        sum += x * x + 10 * (1 - std::cos(2 * std::numbers::pi * x));
    }
    return sum;
}

double normal(hpo::Rng& rng) {  // Box and Muller 1958
    const double radius = std::sqrt(-2 * std::log(1 - rng.uniform()));
    return radius * std::cos(2 * std::numbers::pi * rng.uniform());
}

}  // namespace

TEST_CASE("an eigen system gives its matrix back") {
    const std::vector<std::vector<double>> matrix{{4, 1, -2}, {1, 3, 0.5}, {-2, 0.5, 6}};
    const auto system = eigen_system(matrix);
    for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 3; ++j) {
            double sum = 0, product = 0;
            for (std::size_t k = 0; k < 3; ++k) {
                sum += system.values[k] * system.vectors[k][i] * system.vectors[k][j];
                product += system.vectors[i][k] * system.vectors[j][k];
            }
            CHECK(sum == Approx(matrix[i][j]).margin(1e-12));
            CHECK(product == Approx(i == j ? 1 : 0).margin(1e-12));
        }
    }
}

TEST_CASE("CMA-ES's default parameters are those of the tutorial") {
    const auto population = [](std::size_t d) { return CmaDistribution{std::vector<double>(d, 0.5), {}}.population(); };
    CHECK(population(2) == 6);  // 4 + floor(3 ln d)
    CHECK(population(5) == 8);
    CHECK(population(10) == 10);
    CHECK(population(40) == 15);
}

TEST_CASE("on an ellipsoid of condition 10^4 it converges at the rate of the literature") {
    // Hansen 2016: a convex quadratic function of dimension 5 takes about 10 d^2 evaluations and less for each factor of 10^4 or so
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        Cmaes sampler;
        std::vector<hpo::Trial> trials;
        run(sampler, box(5), ellipsoid, trials, 1200, seed);
        CHECK(best(trials) < 1e-9);
    }
}

TEST_CASE("it converges where numbers depend on each other, and a separable one does not see that") {
    const auto rosenbrock = [](const hpo::ParamSet& params) {
        const double x = params.number("x0").value(), y = params.number("x1").value();
        return 100 * (y - x * x) * (y - x * x) + (1 - x) * (1 - x);
    };
    Cmaes full;
    std::vector<hpo::Trial> trials;
    run(full, box(2), rosenbrock, trials, 600);
    CHECK(best(trials) < 1e-8);
    Cmaes separable{{.separable = true}};
    trials.clear();
    run(separable, box(12), ellipsoid, trials, 1500);
    CHECK(best(trials) < 1e3);
}

TEST_CASE("whole numbers are found, although the distribution shrinks around their neighbours") {
    const auto space = [](hpo::SpaceTrial& trial) {
        for (int d = 0; d < 3; ++d) trial.suggest_float("x" + std::to_string(d), -5, 5);
        for (int d = 0; d < 3; ++d) trial.suggest_int("n" + std::to_string(d), 0, 1);
        for (int d = 0; d < 2; ++d) trial.suggest_int("k" + std::to_string(d), -10, 10);
    };
    const auto objective = [](const hpo::ParamSet& params) {
        double sum = 0;
        for (int d = 0; d < 3; ++d) sum += std::pow(params.number("x" + std::to_string(d)).value(), 2);
        for (int d = 0; d < 3; ++d) sum += 1 - params.number("n" + std::to_string(d)).value();
        for (int d = 0; d < 2; ++d) sum += std::pow(params.number("k" + std::to_string(d)).value() - 7, 2);
        return sum;
    };
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
        Cmaes sampler;
        std::vector<hpo::Trial> trials;
        run(sampler, space, objective, trials, 1500, seed);
        CHECK(best(trials) < 1e-6);
    }
}

TEST_CASE("a new sampler goes on with the very draws, and so does one that saw every trial") {
    Cmaes sampler;
    std::vector<hpo::Trial> trials;
    run(sampler, box(3), ellipsoid, trials, 120);
    for (const std::size_t first : {1U, 6U, 7U, 50U, 119U}) {
        std::vector<hpo::Trial> begun(trials.begin(), trials.begin() + static_cast<std::ptrdiff_t>(first));
        Cmaes other;
        run(other, box(3), ellipsoid, begun, 120);
        for (std::size_t i = 0; i < trials.size(); ++i) CHECK(begun[i].params == trials[i].params);
    }
}

TEST_CASE("infeasible trials and refused proposals drive it away, and maximising is minimising the opposite") {
    const auto feasible_share = [](bool tells) {
        Cmaes sampler;
        std::vector<hpo::Trial> trials;
        std::int64_t inside = 0;
        for (std::int64_t number = 0; number < 200; ++number) {
            const hpo::History history{"study", minimised, trials, {}};
            hpo::Trial trial;
            trial.number = number;
            trial.params = hpo::suggest_params(sampler, box(2), {.number = number, .history = history}, hpo::Seed{1});
            const double x = trial.params.number("x0").value();
            trial.state = hpo::TrialState::pruned;
            if (x > 2) {
                trial.state = hpo::TrialState::complete;
                trial.values = {x};
            } else if (tells) {
                trial.constraints["memory"] = 2 - x;
            }
            inside += number >= 100 && x > 2 ? 1 : 0;
            trials.push_back(std::move(trial));
        }
        return inside;
    };
    CHECK(feasible_share(true) > 25);
    CHECK(feasible_share(true) > feasible_share(false));

    constexpr std::array maximised{hpo::Direction::maximize};
    Cmaes up, down;
    std::vector<hpo::Trial> trials;
    run(down, box(2), ellipsoid, trials, 60);
    std::vector<hpo::Trial> opposite = trials;
    for (auto& trial : opposite) trial.values[0] = -trial.values[0];
    const hpo::History of_least{"study", minimised, trials, {}}, of_greatest{"study", maximised, opposite, {}};
    CHECK(hpo::suggest_params(down, box(2), {.number = 60, .history = of_least}, hpo::Seed{1}) ==
          hpo::suggest_params(up, box(2), {.number = 60, .history = of_greatest}, hpo::Seed{1}));
}

TEST_CASE("choices and what not every trial has are drawn uniformly if asked to") {
    const auto space = [](hpo::SpaceTrial& trial) {
        trial.suggest_float("x0", -5, 5);
        trial.suggest_float("x1", -5, 5);
        if (trial.suggest_categorical("kind", {"a", "b"}) == hpo::Value{"a"}) trial.suggest_float("only_a", 0, 1);
    };
    Cmaes sampler{{.independent = "random"}};
    std::vector<hpo::Trial> trials;
    const auto objective = [](const hpo::ParamSet& params) {
        return std::pow(params.number("x0").value(), 2) + std::pow(params.number("x1").value() - 2, 2);
    };
    run(sampler, space, objective, trials, 300);
    CHECK(best(trials) < 1e-6);
    std::int64_t with_a = 0;
    for (const auto& trial : trials) with_a += trial.params.find("only_a") ? 1 : 0;
    CHECK(with_a > 100);
    CHECK(with_a < 200);
}

TEST_CASE("choices and what not every trial has go to where trials were good") {
    const auto space = [](hpo::SpaceTrial& trial) {
        trial.suggest_float("x0", -5, 5);
        if (trial.suggest_categorical("kind", {"a", "b", "c"}) == hpo::Value{"a"}) trial.suggest_float("only_a", 0, 1);
    };
    const auto objective = [](const hpo::ParamSet& params) {
        const auto only_a = params.number("only_a");
        return std::pow(params.number("x0").value(), 2) + (only_a ? std::fabs(*only_a - 0.3) : 2);
    };
    Cmaes sampler;
    std::vector<hpo::Trial> trials;
    run(sampler, space, objective, trials, 120);
    std::int64_t good = 0;  // of the latest 60; at random 8 would be
    for (const auto& trial : std::span{trials}.last(60)) {
        const auto only_a = trial.params.number("only_a");
        good += only_a && std::fabs(*only_a - 0.3) < 0.2 ? 1 : 0;
    }
    CHECK(good > 30);
    CHECK_THROWS_WITH((Cmaes{{.independent = "grid"}}), "independent: got grid; expected tpe or random");
}

TEST_CASE("a choice is drawn for the trial's numbers, also if it is asked for before them") {
    for (const bool is_first : {true, false}) {
        const auto space = [&](hpo::SpaceTrial& trial) {
            if (is_first) trial.suggest_categorical("sign", {"minus", "plus"});
            trial.suggest_float("x0", -5, 5);
            if (!is_first) trial.suggest_categorical("sign", {"minus", "plus"});
        };
        const auto fits = [](const hpo::ParamSet& params) {
            return (params.number("x0").value() > 0) == (params.find("sign")->internal == 1);
        };
        const auto objective = [&](const hpo::ParamSet& params) { return fits(params) ? 0 : 1; };
        Cmaes sampler{{.sigma = 1, .restart = "none"}};
        std::vector<hpo::Trial> trials;
        run(sampler, space, objective, trials, 160);
        std::int64_t fitting = 0;  // of the latest 80; at random 40 would be
        for (const auto& trial : std::span{trials}.last(80)) fitting += fits(trial.params) ? 1 : 0;
        CHECK(fitting > 60);
    }
}

TEST_CASE("startup trials of cmaes are uniform in each parameter") {
    const auto space = [](hpo::SpaceTrial& trial) {
        trial.suggest_float("x0", -5, 5);
        trial.suggest_categorical("kind", {"a", "b", "c", "d"});
    };
    const auto objective = [](const hpo::ParamSet& params) { return params.find("kind")->internal; };
    Cmaes sampler{{.startup_trials = 200}};
    hpo::sampler::Random random;
    std::vector<hpo::Trial> trials;
    run(sampler, space, objective, trials, 100);
    const hpo::History history{"study of choices", minimised, trials, {}};
    CHECK(hpo::suggest_params(sampler, space, {.number = 100, .history = history}, hpo::Seed{1}) ==
          hpo::suggest_params(random, space, {.number = 100, .history = history}, hpo::Seed{1}));
}

TEST_CASE("a space without numbers is left to tpe") {
    const auto space = [](hpo::SpaceTrial& trial) {
        trial.suggest_categorical("kind", {"a", "b", "c"});
        trial.suggest_categorical("other", {"d", "e"});
    };
    const auto objective = [](const hpo::ParamSet& params) { return params.find("kind")->internal + params.find("other")->internal; };
    Cmaes sampler;
    hpo::sampler::Tpe tpe{{.ei_candidates = 12, .kernels = 32}};
    std::vector<hpo::Trial> trials;
    run(sampler, space, objective, trials, 40);
    const hpo::History history{"study of choices", minimised, trials, {}};
    for (std::int64_t number = 40; number < 60; ++number) {
        CHECK(hpo::suggest_params(sampler, space, {.number = number, .history = history}, hpo::Seed{1}) ==
              hpo::suggest_params(tpe, space, {.number = number, .history = history}, hpo::Seed{1}));
    }
}

TEST_CASE("a first proposal that was refused does not say which numbers the trials have") {
    const hpo::FloatDistribution range{-5, 5, false, {}};
    hpo::Rejection refused;
    refused.params.set("x0", range, 1);
    refused.params.set("of_another_branch", range, 1);
    const std::vector<hpo::Rejection> rejections{refused};
    Cmaes sampler;
    std::vector<hpo::Trial> trials;
    for (const bool has_trials : {false, true}) {
        if (has_trials) run(sampler, box(2), ellipsoid, trials, 20);
        const hpo::History history{"study with a refusal", minimised, trials, rejections};
        hpo::Rng rng{1};
        const hpo::ParamSet drawn = sampler.suggest_joint({.number = std::ssize(trials), .history = history, .seed = hpo::Seed{1}}, rng);
        CHECK((drawn.find("x1") != nullptr) == has_trials);
        CHECK_FALSE(drawn.find("of_another_branch"));
    }
}

TEST_CASE("a range that changes once is followed, and one that changes with each trial is none of the model") {
    const auto with_range = [](double high) {
        return [high](hpo::SpaceTrial& trial) {
            trial.suggest_float("x0", -5, 5);
            trial.suggest_float("x1", -5, high);
        };
    };
    const auto objective = [](const hpo::ParamSet& params) {
        return std::pow(params.number("x0").value(), 2) + std::pow(params.number("x1").value() - 7, 2);
    };
    Cmaes sampler;
    std::vector<hpo::Trial> trials;
    run(sampler, with_range(5), objective, trials, 100);
    run(sampler, with_range(8), objective, trials, 400);
    CHECK(best(trials) < 1e-3);

    Cmaes other;
    std::vector<hpo::Trial> changing;
    for (std::size_t count = 1; count <= 200; ++count)
        run(other, with_range(8 + static_cast<double>(count % 3)), objective, changing, count);
    Cmaes fresh;
    const hpo::History history{"study", minimised, changing, {}};
    const hpo::TrialContext next{.number = 200, .history = history};
    CHECK(hpo::suggest_params(fresh, with_range(8), next, hpo::Seed{1}) == hpo::suggest_params(other, with_range(8), next, hpo::Seed{1}));
}

TEST_CASE("where it has converged, it starts anew with twice the population") {
    int found = 0, found_at_once = 0;
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
        for (const std::string restart : {"ipop", "none"}) {
            Cmaes sampler{{.restart = restart}};
            std::vector<hpo::Trial> trials;
            run(sampler, box(2), rastrigin, trials, 8000, seed);
            (restart == "ipop" ? found : found_at_once) += best(trials) < 1e-3 ? 1 : 0;
        }
    }
    CHECK(found == 4);
    CHECK(found_at_once < 4);
}

TEST_CASE("a study whose whole number stays at its end goes on, however long it is") {
    const auto restart = GENERATE(as<std::string>{}, "ipop", "bipop", "none");
    const bool separable = GENERATE(false, true);
    CAPTURE(restart, separable);
    const auto value = [](const hpo::ParamSet& params) { return *params.number("n"); };
    Cmaes sampler{{.separable = separable, .restart = restart}};
    std::vector<hpo::Trial> trials;
    run(
        sampler, [](hpo::SpaceTrial& trial) { trial.suggest_int("n", 1, 3); }, value, trials, 3000, 2);
    CHECK(best(trials) == 1);
}

TEST_CASE("without restarts a study goes on after it has converged to a point") {
    const bool adapts = GENERATE(false, true);
    CAPTURE(adapts);
    Cmaes sampler{{.restart = "none", .lr_adapt = adapts}};
    std::vector<hpo::Trial> trials;
    run(sampler, box(1), ellipsoid, trials, 6000);
    CHECK(best(trials) < 1e-12);
}

TEST_CASE("BIPOP takes the regime that has spent less, and draws small populations and step sizes") {
    constexpr std::size_t first = 10;
    CmaRestarts restarts{CmaRestarts::Strategy::bipop, first};
    CHECK(restarts.is_small());
    restarts.spend(1000);
    CHECK_FALSE(restarts.is_spent());
    hpo::Rng rng = hpo::Seed{1}.rng();
    CHECK(restarts.next(rng).population == 20);
    restarts.spend(600);
    CHECK(restarts.next(rng).population == 40);  // 600 beside 1000
    restarts.spend(600);
    CHECK(restarts.next(rng).population <= 20);  // 1200 beside 1000
    CHECK(restarts.is_small());
    restarts.spend(290);
    CHECK_FALSE(restarts.is_spent());
    restarts.spend(10);
    CHECK(restarts.is_spent());  // half of 600
    CHECK(restarts.next(rng).population == 80);

    std::size_t small = 1300, large = 1200, largest = 80, latest = 0;  // counted anew
    double least_factor = 1, greatest_factor = 0;
    int small_starts = 0;
    for (int start = 0; start < 300; ++start) {
        const std::size_t spent = restarts.is_small() ? latest / 2 : 100 + rng.below(5000);
        restarts.spend(spent);
        if (!restarts.is_small()) latest = spent;
        CHECK(restarts.is_spent() == restarts.is_small());
        (restarts.is_small() ? small : large) += spent;
        hpo::Rng same = rng;
        const CmaRestarts::Start next = restarts.next(rng);
        REQUIRE(restarts.is_small() == small < large);
        if (!restarts.is_small()) {
            CHECK(next.population == (largest *= 2));
            CHECK(next.sigma_factor == 1);
            if (largest > 1'000'000'000) break;
            continue;
        }
        ++small_starts;
        const double share = same.uniform();
        const double ratio = 0.5 * static_cast<double>(largest) / static_cast<double>(first);
        CHECK(next.population == static_cast<std::size_t>(static_cast<double>(first) * std::pow(ratio, share * share)));
        CHECK(next.sigma_factor == Approx(std::pow(10, -2 * same.uniform())));
        least_factor = std::min(least_factor, next.sigma_factor);
        greatest_factor = std::max(greatest_factor, next.sigma_factor);
    }
    CHECK(small_starts > 20);
    CHECK(least_factor >= 0.01);
    CHECK(least_factor < 0.05);
    CHECK(greatest_factor > 0.5);
}

TEST_CASE("where BIPOP's regimes have spent equally much, it takes the large one") {
    CmaRestarts restarts{CmaRestarts::Strategy::bipop, 10};
    hpo::Rng rng = hpo::Seed{1}.rng();
    restarts.spend(500);
    CHECK(restarts.next(rng).population == 20);
    restarts.spend(500);
    CHECK(restarts.next(rng).population == 40);
}

TEST_CASE("with BIPOP a small start ends when it has spent half of what the large one has") {
    // Where all values are equal, a start with population n in 5 dimensions ends after 10 + 150 / n generations. So the first, with 8,
    // ends after 224 trials, and the large one, with 16, after another 304. The small one has 8, because that is half of 16, and
    // would end after another 224, but may spend 152 only.
    const auto spread = [](const std::vector<hpo::Trial>& trials, std::size_t first, std::size_t end) {
        double least = 5, greatest = -5;
        for (std::size_t trial = first; trial < end; ++trial) {
            const double x = trials[trial].params.number("x0").value();
            least = std::min(least, x);
            greatest = std::max(greatest, x);
        }
        return greatest - least;
    };
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {  // with which the small start has a small step size
        Cmaes sampler{{.restart = "bipop"}};
        std::vector<hpo::Trial> trials;
        run(
            sampler, box(5), [](const hpo::ParamSet&) { return 1.0; }, trials, 704, seed);
        CHECK(spread(trials, 528, 680) < 1);
        CHECK(spread(trials, 680, 704) > 2);
    }
}

TEST_CASE("with BIPOP it finds the best of many minima, and goes on with the very draws") {
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
        Cmaes sampler{{.restart = "bipop"}};
        std::vector<hpo::Trial> trials;
        run(sampler, box(2), rastrigin, trials, 20'000, seed);
        CHECK(best(trials) < 1e-3);
    }
    Cmaes sampler{{.restart = "bipop"}};
    std::vector<hpo::Trial> trials;
    run(sampler, box(1), rastrigin, trials, 3000);
    for (const std::size_t first : {1U, 500U, 1501U, 2700U}) {
        std::vector<hpo::Trial> begun(trials.begin(), trials.begin() + static_cast<std::ptrdiff_t>(first));
        Cmaes other{{.restart = "bipop"}};
        run(other, box(1), rastrigin, begun, 3000);
        CHECK(std::equal(begun.begin(), begun.end(), trials.begin(), [](const auto& a, const auto& b) { return a.params == b.params; }));
    }
}

TEST_CASE("an adapted rate rises to 1 with steps in one direction, and falls with steps to and fro") {
    AdaptedRate rate{0.1};
    rate.adapt({1, 0});
    // E = (0.1, 0) and V = 0.1, so the ratio is (0.01 - 0.1 / 1.9 * 0.1) / (0.1 - 0.01) = 1 / 19
    CHECK(rate.value() == Approx(std::exp(0.1 * (1 / 19.0 / 1.4 - 1))));
    for (int step = 0; step < 200; ++step) rate.adapt({step % 2 == 0 ? -1.0 : 1.0, 0});
    CHECK(rate.value() < 0.1);
    for (int step = 0; step < 400; ++step) rate.adapt({1, 0});
    CHECK(rate.value() == 1);
    AdaptedRate still{0.1};
    still.adapt({0, 0});
    CHECK(still.value() == 1);
}

TEST_CASE("with adapted learning rates it moves as the paper's formulas say") {
    // Calculated apart in NumPy from section 3 of arXiv:2304.03473: the steps of the tutorial's CMA-ES, of the mean and of sigma^2 C, are
    // made local by the inverse root of sigma^2 C, averaged with 0.1 and 0.03, and the rates follow by alpha = 1.4 and
    // gamma = 0.1. Then the parts of the steps are taken, sigma^2 is the d-th root of the determinant, and sigma is divided by what
    // remains of the mean's rate. With the tutorial's older c_mu that calculation has the same moments as the package cmaes 0.13.1 over 30
    // generations in 2, 3 and 5 dimensions. The k-th best point of generation g has 0.5 + 0.2 cos(1 + 3 k + 7 i + 11 g) as coordinate i.
    struct Expected {
        std::vector<double> mean, deviation;
        double widest, condition, mean_rate, covariance_rate;
    };
    const std::array<Expected, 2> expected{Expected{{0.456938239496544, 0.466403218837320},
                                                    {0.126800392346011, 0.144648711659260},
                                                    0.148352558840125,
                                                    1.46790661059281,
                                                    0.548808072404863,
                                                    0.790143336565944},
                                           Expected{{0.458936219864189, 0.467322884304243, 0.491793077758875},
                                                    {0.128092028504373, 0.144961265976924, 0.143083502915022},
                                                    0.150691182121562,
                                                    1.57357217991733,
                                                    0.547701375584835,
                                                    0.792603541399424}};
    for (const Expected& each : expected) {
        const std::size_t d = each.mean.size();
        CmaDistribution distribution{std::vector<double>(d, 0.5), {.lr_adapt = true}};
        for (int generation = 0; generation < 8; ++generation) {
            std::vector<std::vector<double>> points(distribution.population());
            for (std::size_t k = 0; k < points.size(); ++k) {
                for (std::size_t i = 0; i < d; ++i)
                    points[k].push_back(
                        0.5 + 0.2 * std::cos(1.0 + 3.0 * static_cast<double>(k) + 7.0 * static_cast<double>(i) + 11.0 * generation));
            }
            distribution.update(points);
        }
        for (std::size_t i = 0; i < d; ++i) {
            CHECK(distribution.mean()[i] == Approx(each.mean[i]).epsilon(1e-9));
            CHECK(distribution.deviation(i) == Approx(each.deviation[i]).epsilon(1e-9));
        }
        CHECK(distribution.widest() == Approx(each.widest).epsilon(1e-9));
        CHECK(distribution.condition() == Approx(each.condition).epsilon(1e-9));
        CHECK(distribution.mean_rate() == Approx(each.mean_rate).epsilon(1e-9));
        CHECK(distribution.covariance_rate() == Approx(each.covariance_rate).epsilon(1e-9));
    }
}

TEST_CASE("adapted learning rates bring it nearer to the minimum of a noisy function") {
    const auto true_value = [](const std::vector<double>& x) {
        double sum = 0;
        for (const double each : x) sum += (each - 1.3) * (each - 1.3);
        return sum;
    };
    const auto value_of_latest_mean = [&](bool lr_adapt, std::uint64_t seed) {
        Cmaes sampler{{.lr_adapt = lr_adapt}};
        std::vector<hpo::Trial> trials;
        hpo::Rng noise = hpo::Seed{seed}.derive("noise").rng();
        const auto objective = [&](const hpo::ParamSet& params) {
            std::vector<double> x;
            for (const hpo::Param& param : params) x.push_back(param.internal);
            return true_value(x) + 10 * normal(noise);
        };
        run(sampler, box(10), objective, trials, 3000, seed);
        std::vector<double> mean(10, 0);
        for (std::size_t trial = 2900; trial < 3000; ++trial) {
            for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += trials[trial].params.number("x" + std::to_string(i)).value() / 100;
        }
        return true_value(mean);
    };
    double adapted = 0, fixed = 0;
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
        adapted += value_of_latest_mean(true, seed);
        fixed += value_of_latest_mean(false, seed);
    }
    CHECK(adapted < fixed / 4);
}

TEST_CASE("adapted learning rates and a margin go together, and so do they with a study that goes on") {
    const auto space = [](hpo::SpaceTrial& trial) {
        for (int d = 0; d < 3; ++d) trial.suggest_float("x" + std::to_string(d), -5, 5);
        trial.suggest_int("n", 0, 1);
        trial.suggest_int("k", -10, 10);
    };
    const auto objective = [](const hpo::ParamSet& params) {
        double sum = 1 - params.number("n").value() + std::pow(params.number("k").value() - 7, 2);
        for (int d = 0; d < 3; ++d) sum += std::pow(params.number("x" + std::to_string(d)).value(), 2);
        return sum;
    };
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        Cmaes sampler{{.lr_adapt = true}};
        std::vector<hpo::Trial> trials;
        run(sampler, space, objective, trials, 4000, seed);
        CHECK(best(trials) < 1e-3);
        std::vector<hpo::Trial> begun(trials.begin(), trials.begin() + 1001);
        Cmaes other{{.lr_adapt = true}};
        run(other, space, objective, begun, 1500, seed);
        for (std::size_t i = 0; i < begun.size(); ++i) CHECK(begun[i].params == trials[i].params);
    }
}

TEST_CASE("a study that has restart=true or restart=false goes on") {
    const auto values = [](const std::string& restart) {
        Cmaes sampler{{.restart = restart}};
        std::vector<hpo::Trial> trials;
        run(sampler, box(1), rastrigin, trials, 800);
        std::vector<double> found;
        for (const hpo::Trial& trial : trials) found.push_back(trial.values[0]);
        return found;
    };
    CHECK(values("true") == values("ipop"));
    CHECK(values("false") == values("none"));
    CHECK(values("true") != values("false"));
}

TEST_CASE("cmaes refuses settings and studies that it cannot have") {
    CHECK_THROWS_WITH(Cmaes{{.population = 1}}, Catch::Contains("2 or more"));
    CHECK_THROWS_WITH(Cmaes{{.sigma = 0}}, Catch::Contains("above 0"));
    CHECK_THROWS_WITH(Cmaes{{.restart = "twice"}}, Catch::Contains("restart: got twice; expected ipop, bipop or none"));
    CHECK_THROWS_WITH((Cmaes{{.separable = true, .lr_adapt = true}}), Catch::Contains("lr_adapt: got true together with separable=true"));
    constexpr std::array two{hpo::Direction::minimize, hpo::Direction::maximize};
    const hpo::History history{"study", two, {}, {}};
    Cmaes sampler;
    CHECK_THROWS_WITH(hpo::suggest_params(sampler, box(2), {.number = 0, .history = history}, hpo::Seed{1}),
                      Catch::Contains("2 objectives"));
}
