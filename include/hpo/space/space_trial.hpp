// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

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

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/space/impl/space_trial_inl.hpp"
#endif
