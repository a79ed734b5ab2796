// SPDX-License-Identifier: MIT
//
// Studies of chance: spaces with branches, with steps and with ranges that are tiny, huge or of one value; one objective or several; trials
// that fail, are pruned, or violate constraints; values of every size. Each number gives the same study each time.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hpo/core/history.hpp"
#include "hpo/registry/any_sampler.hpp"
#include "hpo/sampler/auto.hpp"
#include "hpo/sampler/cmaes.hpp"
#include "hpo/sampler/gp.hpp"
#include "hpo/sampler/grid.hpp"
#include "hpo/sampler/qmc.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/sampler/tpe.hpp"
#include "support/catch.hpp"

namespace {

using hpo::registry::AnySampler;
using hpo::sampler::Cmaes;
using hpo::sampler::Qmc;
using hpo::sampler::Tpe;
using Numbers = std::numeric_limits<double>;

class Dice {
public:
    explicit Dice(std::uint64_t seed) : rng_{hpo::Seed{seed}.rng()} {}
    double share() { return rng_.uniform(); }
    bool chance(double probability) { return share() < probability; }
    std::int64_t below(std::int64_t count) { return static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(count))); }
    /// 10 to a power between two.
    double magnitude(double least, double greatest) { return std::pow(10, least + share() * (greatest - least)); }

private:
    hpo::Rng rng_;
};

struct RandomParameter {
    std::string name;
    hpo::Distribution distribution;
    std::string only_if;  ///< a categorical parameter that must have its first choice; empty: none
};

hpo::Distribution random_range(Dice& dice) {
    const double scale = dice.chance(0.2) ? dice.magnitude(-300, 300) : dice.magnitude(-4, 4);
    const bool log = dice.chance(0.5);
    const double low = log ? scale * (0.01 + dice.share()) : dice.chance(0.3) ? 0 : -scale * dice.share();
    double high = log ? std::min(low * dice.magnitude(0, 6), Numbers::max()) : low + scale * dice.share();
    if (dice.chance(0.1)) high = low;
    if (dice.chance(0.1)) high = std::nextafter(low, Numbers::max());
    std::optional<double> step;
    if (!log && dice.chance(0.3)) step = (high - low) / static_cast<double>(1 + dice.below(9));
    if (step && *step <= 0) step.reset();
    return hpo::FloatDistribution{low, high, log, step};
}

hpo::Distribution random_distribution(Dice& dice) {
    switch (dice.below(4)) {
        case 0:
        case 1: return random_range(dice);
        case 2: {
            const bool log = dice.chance(0.5);
            const std::int64_t low = log ? 1 + dice.below(5) : dice.below(21) - 10;
            const std::int64_t step = log ? 1 : 1 + dice.below(4);
            return hpo::IntDistribution{low, low + step * static_cast<std::int64_t>(dice.magnitude(0, 9) - 1), log, step};
        }
        default: {
            hpo::CategoricalDistribution choices;
            for (std::int64_t i = dice.below(5); i >= 0; --i) choices.choices.emplace_back(i);
            return choices;
        }
    }
}

struct StudyOfChance {
    explicit StudyOfChance(std::uint64_t seed) : dice{seed} {
        const std::int64_t count = 1 + dice.below(6);
        for (std::int64_t i = 0; i < count; ++i) {
            RandomParameter parameter{"p" + std::to_string(i), hpo::checked("random", random_distribution(dice)), ""};
            for (const RandomParameter& above : parameters) {
                const bool is_choice = std::holds_alternative<hpo::CategoricalDistribution>(above.distribution);
                if (is_choice && above.only_if.empty() && dice.chance(0.2)) parameter.only_if = above.name;
            }
            parameters.push_back(std::move(parameter));
        }
        const std::int64_t objectives = dice.chance(0.6) ? 1 : 2 + dice.below(2);
        for (std::int64_t i = 0; i < objectives; ++i)
            directions.push_back(dice.chance(0.5) ? hpo::Direction::minimize : hpo::Direction::maximize);
        kind_of_values = dice.below(6);
        has_constraints = dice.chance(0.4);
        prunes = dice.chance(0.3);
        failing = dice.chance(0.3) ? 0.5 : 0.1;
    }

    void space(hpo::SpaceTrial& trial) const {
        for (const RandomParameter& parameter : parameters) {
            if (!parameter.only_if.empty()) {
                const hpo::ParamSet drawn = trial.params();
                if (drawn.find(parameter.only_if)->internal != 0) continue;
            }
            const hpo::Distribution& distribution = parameter.distribution;
            if (const auto* real = std::get_if<hpo::FloatDistribution>(&distribution))
                trial.suggest_float(parameter.name, real->low, real->high, {.log = real->log, .step = real->step});
            else if (const auto* whole = std::get_if<hpo::IntDistribution>(&distribution))
                trial.suggest_int(parameter.name, whole->low, whole->high, {.log = whole->log, .step = whole->step});
            else trial.suggest_categorical(parameter.name, std::get<hpo::CategoricalDistribution>(distribution).choices);
        }
    }

    double value(double sum) {
        const double number = std::isfinite(sum) ? sum : Numbers::max();
        switch (kind_of_values) {
            case 0: return 1;
            case 1: return static_cast<double>(dice.below(3));
            case 2: return number * dice.magnitude(-150, 150);
            case 3: return dice.chance(0.2) ? (dice.chance(0.5) ? Numbers::infinity() : -Numbers::infinity()) : number;
            case 4: return number * 1e-310;
            default: return std::min(number * number, Numbers::max());
        }
    }

    void end(hpo::Trial& trial, std::int64_t second) {
        trial.completed = hpo::Time{std::chrono::seconds{second}};
        if (has_constraints) trial.constraints["c"] = dice.chance(0.1) ? Numbers::infinity() : dice.share() * 2 - 1;
        if (dice.chance(failing)) {
            trial.state = hpo::TrialState::fail;
        } else if (prunes && dice.chance(0.3)) {
            trial.state = hpo::TrialState::pruned;
            for (int step = 0; step < 3; ++step) trial.intermediate[step] = dice.share();
        } else {
            trial.state = hpo::TrialState::complete;
            double sum = 0;
            for (const hpo::Param& param : trial.params) sum += param.internal;
            for (std::size_t i = 0; i < directions.size(); ++i) trial.values.push_back(value(sum));
        }
    }

    Dice dice;
    std::vector<RandomParameter> parameters;
    std::vector<hpo::Direction> directions;
    std::int64_t kind_of_values = 0;
    bool has_constraints = false;
    bool prunes = false;
    double failing = 0;
};

struct NamedSampler {
    std::string name;
    std::function<AnySampler()> make;
};

/// Runs a study of so many trials, of which one or two run at a time. suggest_params throws for a value that its parameter does not have.
void run(const NamedSampler& named, std::uint64_t seed, std::int64_t count) {
    StudyOfChance study{seed};
    AnySampler sampler = named.make();
    if (named.name.starts_with("cmaes")) study.directions.resize(1);
    const hpo::Space space = [&](hpo::SpaceTrial& trial) { study.space(trial); };
    std::vector<hpo::Trial> trials;
    std::vector<hpo::Rejection> rejections;
    for (std::int64_t number = 0; number < count; ++number) {
        const hpo::History history{"random", study.directions, trials, rejections};
        const hpo::TrialContext context{.number = number, .history = history};
        hpo::Trial trial;
        trial.number = number;
        trial.state = hpo::TrialState::running;
        try {
            trial.params = hpo::suggest_params(sampler, space, context, hpo::Seed{seed});
        } catch (const hpo::SpaceExhausted&) {
            return;
        }
        if (number % 16 == 9) {
            AnySampler fresh = named.make();
            CHECK(hpo::suggest_params(fresh, space, context, hpo::Seed{seed}) == trial.params);
        }
        if (study.dice.chance(0.05)) rejections.push_back({trial.params, {}, 0.2, "too large", hpo::Time{std::chrono::seconds{number}}});
        trials.push_back(std::move(trial));
        const std::ptrdiff_t back = study.dice.chance(0.3) ? 2 : 1;
        if (std::ssize(trials) < back) continue;
        hpo::Trial& ending = *(trials.end() - back);
        if (ending.state == hpo::TrialState::running) study.end(ending, number);
    }
}

}  // namespace

TEST_CASE("samplers draw in studies of chance, and a new sampler goes on with the same draws") {
    const std::vector<NamedSampler> samplers{
        {"random", [] { return AnySampler{hpo::sampler::Random{}}; }},
        {"qmc", [] { return AnySampler{Qmc{}}; }},
        {"qmc:sequence=halton", [] { return AnySampler{Qmc{{.sequence = "halton"}}}; }},
        {"tpe", [] { return AnySampler{Tpe{}}; }},
        {"tpe:group=true", [] { return AnySampler{Tpe{{.group = true}}}; }},
        {"tpe:multivariate=true", [] { return AnySampler{Tpe{{.multivariate = "true"}}}; }},
        {"cmaes", [] { return AnySampler{Cmaes{}}; }},
        {"cmaes:restart=bipop", [] { return AnySampler{Cmaes{{.restart = "bipop"}}}; }},
        {"cmaes:separable=true", [] { return AnySampler{Cmaes{{.separable = true}}}; }},
        {"cmaes:lr_adapt=true", [] { return AnySampler{Cmaes{{.lr_adapt = true}}}; }},
        {"grid", [] { return AnySampler{hpo::sampler::Grid{}}; }},
    };
    const auto& sampler = samplers[GENERATE(range(0U, 11U))];
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        INFO(sampler.name << ", study " << seed);
        REQUIRE_NOTHROW(run(sampler, seed, 60));
    }
}

TEST_CASE("samplers with a Gaussian process draw in studies of chance") {
    const std::vector<NamedSampler> samplers{
        {"gp", [] { return AnySampler{hpo::sampler::Gp{}}; }},
        {"auto", [] { return AnySampler{hpo::sampler::Auto{}}; }},
    };
    const auto& sampler = samplers[GENERATE(range(0U, 2U))];
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        INFO(sampler.name << ", study " << seed);
        REQUIRE_NOTHROW(run(sampler, seed, 30));
    }
}
