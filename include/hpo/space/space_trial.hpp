// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/base/plain_text.hpp"
#include "hpo/base/utf8.hpp"
#include "hpo/core/distribution.hpp"
#include "hpo/core/param_set.hpp"
#include "hpo/space/narrowing.hpp"

namespace hpo {

/// Thrown for a proposal that `require` refused. The caller draws again.
struct SpaceRejection {
    std::string reason;
};

/// The source of a space's values: a sampler, fixed values, or an enumeration.
class ParamSource {
public:
    virtual ~ParamSource() = default;
    /// The internal value of `name`: in `distribution` and inside `within`, which is never empty. `fixed` has the values that this trial
    /// already has.
    virtual double draw(const std::string& name, const Distribution& distribution, const Narrowing& within, const ParamSet& fixed) = 0;
    /// Called if a requirement of the space does not hold. If it returns, the space continues with its next questions.
    virtual void refuse(std::string_view reason) { throw SpaceRejection{std::string{reason}}; }
};

struct FloatOptions {
    bool log = false;
    std::optional<double> step{};
    std::optional<double> min{};  ///< narrows this trial; the distribution stays [low, high]
    std::optional<double> max{};
};
struct IntOptions {
    bool log = false;
    std::int64_t step = 1;
    std::optional<std::int64_t> min{};
    std::optional<std::int64_t> max{};
};
struct CategoricalOptions {
    std::optional<std::vector<Value>> only{};  ///< narrows this trial to some of the choices
};

/// Throws bad_value for a name that a store, a terminal or another program cannot handle.
void require_parameter_name(std::string_view name);

/// Throws bad_value for a choice that a store cannot hold.
void require_choices(std::string_view name, const std::vector<Value>& choices);

/// A trial as a search space sees it. The space asks for parameters by name, in any order and under any condition. Asking for the same name
/// again gives the same value.
class SpaceTrial {
public:
    explicit SpaceTrial(ParamSource& source, std::int64_t number = 0) : source_{source}, number_{number} {}

    double suggest_float(const std::string& name, double low, double high, const FloatOptions& options = {});
    std::int64_t suggest_int(const std::string& name, std::int64_t low, std::int64_t high, const IntOptions& options = {});
    Value suggest_categorical(const std::string& name, std::vector<Value> choices, const CategoricalOptions& options = {});

    /// A hard constraint: refuses this proposal unless `holds`. Throws SpaceRejection, and suggest_params then draws again.
    void require(bool holds, std::string_view reason) const {
        if (!holds) source_.refuse(reason);
    }

    /// The internal value of a parameter. suggest_float, suggest_int and suggest_categorical use it.
    double draw(const std::string& name, Distribution distribution, const Narrowing& within);

    [[nodiscard]] const ParamSet& params() const noexcept { return params_; }
    [[nodiscard]] std::int64_t number() const noexcept { return number_; }

private:
    ParamSource& source_;
    std::int64_t number_;
    ParamSet params_;
    std::unordered_map<std::string, std::size_t> index_;  ///< position of each name in params_; a space may have a thousand parameters
};

/// A search space: a function that asks a trial for its parameters. Its questions may depend only on the trial.
using Space = std::function<void(SpaceTrial&)>;

inline void require_parameter_name(std::string_view name) {
    if (name.empty()) throw bad_value("parameter", "an empty name", "a name");
    if (is_plain_text(name)) return;
    throw bad_value("parameter", "the name " + ascii_text(name.substr(0, 80)), "a name of UTF-8 characters without control characters");
}

inline void require_choices(std::string_view name, const std::vector<Value>& choices) {
    for (const Value& choice : choices) {
        const auto* const text = std::get_if<std::string>(&choice);
        if (!text || find_invalid_utf8(*text) == std::string_view::npos) continue;
        throw bad_value("parameter '" + std::string{name} + "'", "the choice " + ascii_text(std::string_view{*text}.substr(0, 80)),
                        "UTF-8");
    }
}

inline double SpaceTrial::suggest_float(const std::string& name, double low, double high, const FloatOptions& options) {
    Narrowing within;
    if (options.min) within.low = *options.min;
    if (options.max) within.high = *options.max;
    return draw(name, FloatDistribution{low, high, options.log, options.step}, within);
}

inline std::int64_t SpaceTrial::suggest_int(const std::string& name, std::int64_t low, std::int64_t high, const IntOptions& options) {
    Narrowing within;
    if (options.min) within.low = static_cast<double>(*options.min);
    if (options.max) within.high = static_cast<double>(*options.max);
    return static_cast<std::int64_t>(draw(name, IntDistribution{low, high, options.log, options.step}, within));
}

inline Value SpaceTrial::suggest_categorical(const std::string& name, std::vector<Value> choices, const CategoricalOptions& options) {
    require_choices(name, choices);
    const Distribution distribution = CategoricalDistribution{std::move(choices)};
    Narrowing within;
    if (options.only) {
        within.allowed.assign(std::get<CategoricalDistribution>(distribution).choices.size(), false);
        for (const Value& choice : *options.only) {
            const auto index = to_internal(distribution, choice);
            if (!index) throw bad_value("parameter '" + name + "'", display_text(choice) + " in its narrowing", describe(distribution));
            within.allowed[static_cast<std::size_t>(*index)] = true;
        }
    }
    return to_value(distribution, draw(name, distribution, within));
}

inline double SpaceTrial::draw(const std::string& name, Distribution distribution, const Narrowing& within) {
    const std::string place = "parameter '" + name + "'";
    require_parameter_name(name);
    distribution = checked(place, std::move(distribution));
    const auto known = index_.find(name);
    if (known != index_.end()) {
        const Param& present = *(params_.begin() + static_cast<std::ptrdiff_t>(known->second));
        if (*present.distribution != distribution) {
            throw bad_value(place,
                            "two distributions in one trial (" + describe(*present.distribution) + " and " + describe(distribution) + ")",
                            "one distribution for each name; narrow it with min, max or only");
        }
        return present.internal;
    }
    if (!narrowed(distribution, within)) {
        throw bad_value(place, "a narrowing that leaves no value of " + describe(distribution),
                        "min <= max, with at least one value between");
    }
    const double internal = source_.draw(name, distribution, within, params_);
    index_.emplace(name, params_.size());
    params_.append({name, std::make_shared<const Distribution>(std::move(distribution)), internal});
    return internal;
}

}  // namespace hpo
