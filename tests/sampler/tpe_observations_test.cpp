// SPDX-License-Identifier: MIT
#include "hpo/sampler/tpe_observations.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/sampler/tpe_parzen_estimator.hpp"
#include "hpo/sampler/tpe_split.hpp"
#include "hpo/sampler/uniform.hpp"
#include "hpo/space/inferred_space.hpp"
#include "support/catch.hpp"

using hpo::Distribution;
using hpo::Trial;
using hpo::TrialState;
using namespace hpo::sampler;  // NOLINT: a test of this namespace

namespace {

constexpr std::size_t points_at_once = 24;
constexpr std::int64_t no_trial = 1'000'000;

std::shared_ptr<const Distribution> shared(Distribution distribution) {
    return std::make_shared<const Distribution>(std::move(distribution));
}

/// A study that goes on at random. Several trials run at a time, some wait and start late, some have no start. Parameters are of all kinds,
/// have branches, and change their range or, for a trial that fails, their kind. Trials end in all ways, also with NaN. Rejections come
/// between.
class RandomStudy {
public:
    explicit RandomStudy(std::uint64_t seed) : rng_{seed} {}

    void go_on() {
        const auto number = static_cast<std::int64_t>(trials.size());
        Trial& trial = trials.emplace_back();
        trial.id = trial.number = number;
        now_ += 1'000'000;
        if (rng_.below(8) == 0) {
            trial.state = TrialState::waiting;
            return;
        }
        start(trial);
        for (Trial& each : trials) {
            if (each.state == TrialState::waiting && rng_.below(3) == 0) start(each);
            else if (each.state == TrialState::running && rng_.below(3) == 0) end(each);
        }
        if (rng_.below(4) == 0)
            rejections.push_back(
                {.params = trials.back().params, .violation = rng_.uniform(), .at = hpo::Time{std::chrono::microseconds{now_ + 500'000}}});
    }
    void widen(std::string_view name, Distribution distribution) {
        for (auto& [known, present] : space_) {
            if (known == name) present = shared(std::move(distribution));
        }
    }
    [[nodiscard]] hpo::History history() const { return {"random", directions, trials, rejections}; }
    [[nodiscard]] hpo::Rng& rng() { return rng_; }

    std::vector<hpo::Direction> directions{hpo::Direction::minimize};
    std::vector<Trial> trials;
    std::vector<hpo::Rejection> rejections;

private:
    void start(Trial& trial) {
        trial.state = TrialState::running;
        now_ += 1'000;
        if (rng_.below(10) != 0) trial.started = hpo::Time{std::chrono::microseconds{now_}};
        const bool has_branch = rng_.below(3) == 0;
        for (const auto& [name, distribution] : space_) {
            if (name == "branch" && !has_branch) continue;
            trial.params.set({std::string{name}, distribution, draw_uniform(*distribution, {}, rng_)});
        }
        if (rng_.below(20) == 0) {  // it fails, so its range does not count afterwards
            trial.params.set({"x", shared(hpo::FloatDistribution{-50, 50, false, {}}), 40.0});
        }
    }
    void end(Trial& trial) {
        trial.completed = hpo::Time{std::chrono::microseconds{now_}};
        if (rng_.below(9) == 0) {
            hpo::ParamSet changed = trial.params;
            changed.set({"rate", changed.find("rate")->distribution, 1e-3});
            trial.attempts.emplace_back().changed_params = changed;
        }
        const bool is_wide = trial.params.find("x")->internal == 40;
        switch (is_wide ? 0 : rng_.below(7)) {
            case 0: trial.state = TrialState::fail; break;
            case 1:
                trial.state = TrialState::fail;
                trial.constraints["memory"] = rng_.uniform();
                break;
            case 2:
                trial.state = TrialState::pruned;
                trial.intermediate[static_cast<std::int64_t>(rng_.below(3))] = rng_.uniform();
                break;
            default:
                trial.state = TrialState::complete;
                for (std::size_t m = 0; m < directions.size(); ++m)
                    trial.values.push_back(std::floor(8 * rng_.uniform()));  // equal ones, too
        }
    }

    hpo::Rng rng_;
    std::int64_t now_ = 0;
    std::vector<std::pair<std::string_view, std::shared_ptr<const Distribution>>> space_{
        {"x", shared(hpo::FloatDistribution{-5, 5, false, {}})},
        {"rate", shared(hpo::FloatDistribution{1e-5, 1e-1, true, {}})},
        {"grid", shared(hpo::FloatDistribution{0, 1, false, 0.1})},
        {"batch", shared(hpo::IntDistribution{1, 64, true})},
        {"width", shared(hpo::IntDistribution{1, 4000, false, 1})},
        {"kind", shared(hpo::CategoricalDistribution{{hpo::Value{"a"}, hpo::Value{"b"}}})},
        {"branch", shared(hpo::FloatDistribution{0, 1, false, {}})}};
};

/// What is asked of both: the space, and points in it.
struct Question {
    std::vector<hpo::Dimension> space;
    std::vector<std::string_view> names{};
    std::vector<ModelAxis> axes{};
    std::vector<std::vector<double>> points{};

    Question(std::vector<hpo::Dimension> dimensions, hpo::Rng& rng) : space{std::move(dimensions)} {
        for (const hpo::Dimension& dimension : space) {
            names.push_back(dimension.name);
            axes.emplace_back(*dimension.distribution);
            std::vector<double>& values = points.emplace_back();
            for (std::size_t i = 0; i < points_at_once; ++i) values.push_back(draw_uniform(*dimension.distribution, {}, rng));
        }
    }

    /// The density of these observations, from the beginning.
    [[nodiscard]] std::vector<double> density(const std::vector<const hpo::ParamSet*>& observations) const {
        std::vector<std::vector<double>> columns(names.size(), std::vector<double>(observations.size(), std::nan("")));
        for (std::size_t i = 0; i < observations.size(); ++i) {
            for (std::size_t d = 0; d < names.size(); ++d) {
                const hpo::Param* const param = observations[i]->find(names[d]);
                if (param && axes[d].holds(param->internal)) columns[d][i] = param->internal;
            }
        }
        return TpeParzenEstimator{axes, columns, observations.size(), 1}.log_density(points);
    }
};

void compare(TpeObservations& kept, RandomStudy& study, std::int64_t number) {
    const hpo::History history = study.history();
    kept.follow(history, number);
    const TpeSplit split = tpe_split(history, number, 0.1);
    REQUIRE(kept.good(history) == split.below);
    std::vector<std::string> names;
    for (const hpo::Dimension& each :
         hpo::inferred_space(history.trials, [&](const Trial& trial) { return trial.number != number && tpe_observes(trial); })) {
        names.push_back(each.name);
        REQUIRE(kept.latest(each.name));
        REQUIRE(*kept.latest(each.name) == *each.distribution);
    }
    const Question question{kept.space(), study.rng()};
    REQUIRE(std::ranges::equal(question.names, names));
    if (names.empty()) return;
    const std::vector<double> found = kept.log_density_of_others(question.names, question.points);
    const std::vector<double> expected = question.density(split.above);
    for (std::size_t i = 0; i < points_at_once; ++i) REQUIRE(found[i] == Approx(expected[i]).margin(1e-8));
}

}  // namespace

TEST_CASE("what tpe keeps of a study gives the densities that are computed from its beginning") {
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
        RandomStudy study{seed};
        if (seed % 2 == 0) study.directions = {hpo::Direction::maximize};
        if (seed > 4) study.directions.push_back(hpo::Direction::maximize);
        TpeObservations kept{0.1, 1};
        for (int i = 0; i < 120; ++i) {
            study.go_on();
            if (i == 60) study.widen("x", hpo::FloatDistribution{-8, 8, false, {}});
            if (i == 90) study.widen("width", hpo::IntDistribution{1, 40, false, 1});
            const Trial& latest = study.trials.back();
            compare(kept, study, latest.state == TrialState::running && i % 3 == 0 ? latest.number : no_trial);
        }
    }
}

TEST_CASE("of a long study a sample of the older observations is kept, the same whenever it is looked at") {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        RandomStudy study{seed};
        if (seed == 3) study.directions.push_back(hpo::Direction::maximize);
        constexpr std::size_t most = 100;
        TpeObservations grown{0.1, 1, most};
        double difference = 0, spread = 0;
        for (int i = 0; i < 700; ++i) {
            study.go_on();
            const hpo::History history = study.history();
            grown.follow(history, no_trial);
            if (i < 200 || i % 50 != 0) continue;
            TpeObservations fresh{0.1, 1, most}, all{0.1, 1};
            fresh.follow(history, no_trial);
            all.follow(history, no_trial);
            REQUIRE(grown.good(history) == all.good(history));
            const Question question{all.space(), study.rng()};
            const auto density = [&](TpeObservations& of) { return of.log_density_of_others(question.names, question.points); };
            const std::vector<double> found = density(grown), again = density(fresh), whole = density(all);
            for (std::size_t k = 0; k < points_at_once; ++k) {
                REQUIRE(found[k] == Approx(again[k]).margin(1e-9));
                difference += std::fabs(found[k] - whole[k]);
                spread += std::fabs(whole[k] - whole[(k + 1) % points_at_once]);
            }
        }
        CHECK(difference < 0.25 * spread);
    }
}

TEST_CASE("a long study that is read at once takes no more rows than one that was followed") {
    RandomStudy study{5};
    constexpr std::size_t most = 100;
    for (int i = 0; i < 3000; ++i) study.go_on();
    TpeObservations fresh{0.1, 1, most};
    fresh.follow(study.history(), no_trial);
    CHECK(fresh.rows() < 5 * most);
}

TEST_CASE("another study, or one that has changed, is looked at from its beginning") {
    RandomStudy first{3};
    RandomStudy second{4};
    TpeObservations kept{0.1, 1};
    for (int i = 0; i < 40; ++i) first.go_on(), second.go_on();
    compare(kept, first, no_trial);
    compare(kept, second, no_trial);
    second.trials.resize(20);
    second.rejections.resize(second.rejections.size() / 2);
    compare(kept, second, no_trial);
    compare(kept, first, no_trial);
}

TEST_CASE("exponentials are those of the standard library, to 1e-15") {
    using tpe_detail::Pair;
    for (double x = 0; x > -700; x -= 0.37) {
        const auto found =
            tpe_detail::exp_below_zero(tpe_detail::FourPairs{{Pair{x, x / 2}, Pair{x / 3, x / 4}, Pair{x / 5, x / 6}, Pair{x / 7, x / 8}}});
        for (int i = 0; i < 8; ++i) CHECK(found.at[i / 2][i % 2] == Approx(std::exp(x / (i + 1))).epsilon(4e-16 + 1e-15));
    }
    const auto none = tpe_detail::exp_below_zero(tpe_detail::FourPairs{{Pair{-HUGE_VAL, -1e6}, Pair{}, Pair{}, Pair{-1000, 0}}});
    CHECK(none.at[0][0] < 1e-300);
    CHECK(none.at[0][1] < 1e-300);
    CHECK(none.at[3][0] < 1e-300);
    CHECK(none.at[3][1] == 1);
}
