// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/sampler/suggest.hpp"
#include "hpo/sampler/uniform.hpp"
#include "hpo/testing/contract_report.hpp"

namespace hpo::testing {

namespace detail {

/// Every kind of distribution, including one-point ranges, and a branch. `finite` leaves out what has no end of values.
inline void every_kind_of(SpaceTrial& trial, bool finite) {
    if (!finite) trial.suggest_float("float", -2, 3);
    if (!finite) trial.suggest_float("float_log", 1e-6, 10, {.log = true});
    trial.suggest_float("float_step", 0.1, 0.9, {.step = 0.2});
    trial.suggest_int("int", -3, 12);
    trial.suggest_int("int_log", 1, 4096, {.log = true});
    trial.suggest_int("int_step", 8, 64, {.step = 8});
    trial.suggest_float("one_float", 0.25, 0.25);
    trial.suggest_int("one_int", 7, 7);
    trial.suggest_categorical("one_choice", {Value{}});
    const Value choice = trial.suggest_categorical("choice", {Value{"a"}, Value{true}, Value{std::int64_t{3}}});
    if (choice == Value{"a"}) trial.suggest_float("only_of_a", 0, 1, {.step = finite ? std::optional{0.25} : std::nullopt});
    else trial.suggest_int("only_of_others", 1, 100, {.log = true});
}

inline void every_kind(SpaceTrial& trial) { every_kind_of(trial, false); }

/// The same parameters, each narrowed.
inline void every_kind_narrowed(SpaceTrial& trial, bool finite) {
    if (!finite) trial.suggest_float("float", -2, 3, {.min = 2.999, .max = 2.9995});
    if (!finite) trial.suggest_float("float_log", 1e-6, 10, {.log = true, .max = 2e-6});
    trial.suggest_float("float_step", 0.1, 0.9, {.step = 0.2, .min = 0.2, .max = 0.7});
    trial.suggest_int("int", -3, 12, {.max = -2});
    trial.suggest_int("int_log", 1, 4096, {.log = true, .min = 4000});
    trial.suggest_int("int_step", 8, 64, {.step = 8, .min = 20, .max = 31});
    trial.suggest_categorical("choice", {Value{"a"}, Value{true}, Value{std::int64_t{3}}},
                              {.only = std::vector<Value>{Value{true}, Value{std::int64_t{3}}}});
}

/// Whether the parameters lie within the ranges of every_kind_narrowed, by internal value.
inline bool inside_narrowing(const ParamSet& params) {
    const auto between = [&](const char* name, double low, double high) {
        const Param* const param = params.find(name);
        if (!param) return true;
        const double value = param->internal;
        return value >= low - 1e-9 && value <= high + 1e-9;  // grid points are sums, with rounding errors
    };
    return between("float", 2.999, 2.9995) && between("float_log", 1e-6, 2e-6) && between("float_step", 0.2, 0.7) &&
           between("int", -3, -2) && between("int_log", 4000, 4096) && between("int_step", 24, 24) && between("choice", 1, 2);
}

/// `count` trials of every state, with values and reports that are finite, infinite and NaN.
inline std::vector<Trial> varied_trials(int count) {
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    struct Uniform final : ParamSource {
        double draw(const std::string& name, const Distribution& distribution, const Narrowing& within, const ParamSet&) override {
            Rng rng = seed.derive(name).rng();
            return sampler::draw_uniform(distribution, within, rng);
        }
        Seed seed;
    };
    std::vector<Trial> trials;
    for (int i = 0; i < count; ++i) {
        Uniform source;
        source.seed = Seed{42}.derive(static_cast<std::uint64_t>(i));
        SpaceTrial drawn{source, i};
        every_kind(drawn);
        Trial& trial = trials.emplace_back();
        trial.number = i;
        trial.params = drawn.params();
        const double value = i % 13 == 3   ? std::nan("")
                             : i % 13 == 5 ? infinity
                             : i % 13 == 7 ? -infinity
                                           : trial.params.find("float")->internal;
        switch (i % 7) {
            case 0:
                trial.state = TrialState::pruned;
                if (i % 2 == 0) trial.intermediate[i % 5] = value;
                break;
            case 1:
                trial.state = TrialState::fail;
                if (i % 2 == 0) trial.constraints["memory"] = 0.5;
                break;
            case 2: trial.state = i + 7 >= count ? TrialState::running : TrialState::waiting; break;
            default:
                trial.state = TrialState::complete;
                trial.values = {value};
                trial.constraints["memory"] = i % 5 == 4 ? 1.5 : -0.5;
        }
    }
    return trials;
}

template <Sampler S>
[[nodiscard]] bool refuses_endless(const S& sampler) {
    try {
        require_parameter(sampler, "float", FloatDistribution{0, 1});
        return false;
    } catch (const Error&) {
        return true;
    }
}

/// A study that a sampler is asked for again and again, while two workers run its trials.
struct OwnStudy {
    std::string_view name;
    void (*space)(SpaceTrial& trial, bool finite);
    double (*value)(const ParamSet& params, std::int64_t number);  ///< of a trial; NaN: it fails
    FixedValues enqueued;                                          ///< of every fifth trial
};

/// The sum of the squares of numbers that are not huge.
inline double bowl(const ParamSet& params, std::int64_t /*number*/) {
    double sum = 0;
    for (const Param& param : params) sum += std::min(param.internal * param.internal, 1e9);
    return sum;
}

inline void extreme_ranges(SpaceTrial& trial, bool finite) {
    trial.suggest_int("one_int", 7, 7);
    trial.suggest_int("two_ints", 0, 1);
    trial.suggest_int("large_steps", 0, std::int64_t{1} << 52, {.step = std::int64_t{1} << 50});
    if (finite) return;
    trial.suggest_float("huge", -8e307, 8e307);
    trial.suggest_float("huge_log", 1e-300, 1e300, {.log = true});
    trial.suggest_float("tiny", 0, 1e-300);
    trial.suggest_float("denormal", 0, std::numeric_limits<double>::denorm_min());
    trial.suggest_float("tiny_log", 1e-5, std::nextafter(1e-5, 1), {.log = true});
    trial.suggest_float("rounds", 1e-5, 0.1, {.log = true});
    trial.suggest_float("steps", 0.1, 0.7, {.step = 0.1});
    trial.suggest_float("steps_below_rounding", 1, std::nextafter(1, 2), {.step = std::numeric_limits<double>::epsilon() / 3});
    trial.suggest_int("all_ints", -(std::int64_t{1} << 53), std::int64_t{1} << 53);
    trial.suggest_int("all_ints_log", 1, std::int64_t{1} << 53, {.log = true});
}

/// A parameter gets another range, another kind and other choices, and one comes later.
inline void changing_space(SpaceTrial& trial, bool finite) {
    const std::int64_t phase = trial.number() / 12;
    trial.suggest_int("range", -phase, 3 + 2 * phase);
    if (phase % 2 == 0) trial.suggest_int("kind", 0, 9);
    else trial.suggest_categorical("kind", {Value{"a"}, Value{"b"}});
    std::vector<Value> choices{Value{"a"}, Value{"b"}};
    if (phase > 1) choices.insert(choices.begin(), Value{"c"});
    trial.suggest_categorical("choices", choices);
    if (phase > 0) trial.suggest_int("later", 1, 8);
    if (!finite) trial.suggest_float("moving", static_cast<double>(phase), 1.5 + static_cast<double>(phase));
}

inline void few_numbers(SpaceTrial& trial, bool finite) {
    trial.suggest_int("batch", 1, 64, {.log = true});
    if (!finite) trial.suggest_float("rate", 1e-5, 1, {.log = true});
}

inline const std::vector<OwnStudy>& own_studies() {
    static const std::vector<OwnStudy> studies{
        {"extreme ranges", extreme_ranges, bowl, {}},
        {"a space that changes", changing_space, bowl, {}},
        {"trials that all fail", few_numbers, [](const ParamSet&, std::int64_t) { return std::nan(""); }, {}},
        {"one value for all", few_numbers, [](const ParamSet&, std::int64_t) { return 1.0; }, {}},
        {"infinite values",
         few_numbers,
         [](const ParamSet&, std::int64_t number) {
             const double infinity = std::numeric_limits<double>::infinity();
             return number % 2 == 0 ? infinity : -infinity;
         },
         {}},
        {"enqueued points at an end", few_numbers, bowl, {{"batch", Value{std::int64_t{64}}}}},
    };
    return studies;
}

}  // namespace detail

/// The rules for what a sampler draws in a study that it has proposed itself, whichever of two workers ends first. `make()` returns a new
/// one each time. One that refuses endless parameters gets spaces without them. It makes some hundred draws.
template <std::invocable Make>
requires Sampler<std::invoke_result_t<Make>>
[[nodiscard]] ContractReport own_studies_contract(const Make& make) {
    static constexpr std::array directions{Direction::minimize};
    static constexpr int trials_of_study = 48;
    ContractReport report;
    const bool finite = detail::refuses_endless(make());
    for (const detail::OwnStudy& study : detail::own_studies()) {
        const Space space = [&](SpaceTrial& trial) { study.space(trial, finite); };
        const std::string in = " (in a study with " + std::string{study.name} + ")";
        auto sampler = make();
        std::vector<Trial> trials;
        std::int64_t ended = 0;
        const auto end = [&](Trial& trial) {
            const double value = study.value(trial.params, trial.number);
            trial.state = std::isnan(value) ? TrialState::fail : TrialState::complete;
            if (!std::isnan(value)) trial.values = {value};
            trial.completed = Time{std::chrono::seconds{++ended}};
        };
        try {
            for (int i = 0; i < trials_of_study; ++i) {
                const History history{"own", directions, trials, {}};
                const bool is_enqueued = !study.enqueued.empty() && i % 5 == 4;
                const TrialContext context{.number = i, .history = history, .is_enqueued = is_enqueued};
                const FixedValues fixed = is_enqueued ? study.enqueued : FixedValues{};
                Trial trial;
                trial.number = i;
                trial.params = suggest_params(sampler, space, context, Seed{3}, fixed);
                if (i % 8 == 7) {
                    auto fresh = make();
                    report.expect(suggest_params(fresh, space, context, Seed{3}, fixed) == trial.params,
                                  "a new sampler goes on with the same draws" + in);
                }
                trial.state = TrialState::running;
                trials.push_back(std::move(trial));
                if (i % 2 == 0) continue;  // two run at a time, and the later one ends first in every other pair
                const std::size_t first = i % 4 == 1 ? 1 : 2;
                end(trials[trials.size() - first]);
                end(trials[trials.size() - (3 - first)]);
            }
        } catch (const SpaceExhausted&) {  // the study ends
        } catch (const std::exception& error) {
            report.expect(false, "no draw throws" + in + ": " + error.what());
        }
    }
    return report;
}

/// The rules for every sampler. `make()` returns a new one each time. One that refuses endless parameters gets a space
/// without them. It makes some hundred draws over histories of up to 1,000 trials, and those of own_studies_contract.
template <std::invocable Make>
requires Sampler<std::invoke_result_t<Make>>
[[nodiscard]] ContractReport sampler_contract(const Make& make) {
    static constexpr std::array directions{Direction::minimize};
    ContractReport report;
    const bool finite = detail::refuses_endless(make());
    const Space every_kind = [finite](SpaceTrial& trial) { detail::every_kind_of(trial, finite); };
    const Space every_kind_narrowed = [finite](SpaceTrial& trial) { detail::every_kind_narrowed(trial, finite); };
    const auto is_inside = [](const ParamSet& params) {
        return std::all_of(params.begin(), params.end(), [](const Param& param) { return contains(*param.distribution, param.internal); });
    };
    for (const int size : {0, 1, 12, 60, 1000}) {
        const std::vector<Trial> trials = detail::varied_trials(size);
        std::vector<Rejection> rejections;
        for (int i = 0; i < size && i < 20; ++i) {
            rejections.push_back({trials[static_cast<std::size_t>(i)].params, {}, 0.1 * (i + 1), "too large", {}});
        }
        const History history{"contract", directions, trials, rejections};
        const std::string with = " (with " + std::to_string(size) + " trials)";
        try {
            auto sampler = make();
            for (int i = 0; i < (size > 100 ? 5 : 25); ++i) {
                const TrialContext trial{size + i, history};
                const ParamSet drawn = suggest_params(sampler, every_kind, trial, Seed{1});
                auto twin = make();
                report.expect(suggest_params(twin, every_kind, trial, Seed{1}) == drawn,
                              "the same seed and history give the same draw" + with);
                report.expect(suggest_params(sampler, every_kind, trial, Seed{1}) == drawn, "asking again changes nothing" + with);
                auto moved = std::move(twin);
                report.expect(suggest_params(moved, every_kind, trial, Seed{1}) == drawn, "a moved sampler goes on" + with);

                const ParamSet narrow = suggest_params(sampler, every_kind_narrowed, trial, Seed{1});
                report.expect(detail::inside_narrowing(narrow), "narrowings are respected" + with);
                const ParamSet fixed =
                    suggest_params(sampler, every_kind, trial, Seed{1}, {{"choice", Value{"a"}}, {"int_step", std::int64_t{16}}});
                report.expect(fixed.number("int_step") == 16 && fixed.find("only_of_a"), "fixed values are kept" + with);
                if constexpr (JointSampler<std::invoke_result_t<Make>>) {
                    Rng rng = Seed{2}.rng();
                    report.expect(is_inside(sampler.suggest_joint(trial, rng)), "joint values lie in their distributions" + with);
                }
            }
        } catch (const std::exception& error) {
            const std::string what = error.what();  // suggest_params refuses a value that the parameter does not have
            const std::string rule = !what.starts_with("sampler: parameter")       ? "no draw throws"
                                     : what.find("narrowing") != std::string::npos ? "narrowings are respected"
                                                                                   : "values lie in their distributions";
            report.expect(false, rule + with + ": " + what);
        }
    }
    for (std::string& rule : own_studies_contract(make).broken) report.expect(false, std::move(rule));
    return report;
}

}  // namespace hpo::testing
