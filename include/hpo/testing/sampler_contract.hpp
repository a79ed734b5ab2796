// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <optional>
#include <string>
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

}  // namespace detail

/// The rules for every sampler. `make()` returns a new one each time. One that refuses endless parameters gets a space
/// without them. It makes some hundred draws over histories of up to 1,000 trials.
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
    return report;
}

}  // namespace hpo::testing
