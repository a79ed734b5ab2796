// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hpo/core/param_set.hpp"

namespace hpo::tests {

/// Parameters of a program that trains, of which some have no influence on its memory.
template <class Random>
[[nodiscard]] ParamSet draw_params(Random& random) {
    ParamSet params;
    const auto at = [&](const std::vector<Value>& choices) { return static_cast<double>(random() % choices.size()); };
    const std::vector<Value> batches{std::int64_t{8}, std::int64_t{16}, std::int64_t{32}, std::int64_t{64}, std::int64_t{128}};
    params.set("batch", CategoricalDistribution{batches}, at(batches));
    params.set("width", IntDistribution{.low = 64, .high = 1024, .log = true}, 64 * std::exp2(static_cast<double>(random() % 5)));
    params.set("depth", IntDistribution{.low = 1, .high = 8}, static_cast<double>(1 + random() % 8));
    const std::vector<Value> kinds{std::string{"sgd"}, std::string{"adam"}};
    params.set("optimizer", CategoricalDistribution{kinds}, at(kinds));
    params.set("lr", FloatDistribution{.low = 1e-5, .high = 0.1, .log = true},
               1e-5 * std::pow(10.0, static_cast<double>(random() % 40) / 10));
    return params;
}

/// The peak of one kind of programs, in bytes.
struct Law {
    std::string name;
    std::function<double(const ParamSet&)> bytes;
};

[[nodiscard]] inline std::vector<Law> laws() {
    constexpr double mib = 1 << 20;
    const auto whole = [](const ParamSet& params, const char* name) { return *params.number(name); };
    const auto is_adam = [](const ParamSet& params) { return params.value("optimizer") == Value{std::string{"adam"}}; };
    return {
        {"batch", [=](const ParamSet& p) { return mib * (200 + 6 * whole(p, "batch")); }},
        {"activations", [=](const ParamSet& p) { return mib * (150 + whole(p, "batch") * whole(p, "width") * whole(p, "depth") / 800); }},
        {"weights",
         [=](const ParamSet& p) {
             const double weights = whole(p, "width") * whole(p, "width") * whole(p, "depth") / 40000;
             return mib * (100 + weights * (is_adam(p) ? 4 : 2) + whole(p, "batch") * whole(p, "width") / 200);
         }},
        {"steps", [=](const ParamSet& p) { return mib * (is_adam(p) ? 900 : 400) * (whole(p, "batch") > 32 ? 2 : 1); }},
        {"constant", [=](const ParamSet&) { return mib * 300; }}};
}

}  // namespace hpo::tests
