// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "hpo/core/distribution.hpp"
#include "hpo/core/param_set.hpp"

namespace hpo::store {

/// `{"name": "FloatDistribution", "attributes": {...}}`, as Optuna writes `trial_params.distribution_json`.
[[nodiscard]] std::string distribution_text(const Distribution& distribution);

/// Reads what distribution_text writes, the names that Optuna used before 3.0, and the short form
/// `{"type": "float", "low": 0, "high": 1}`. Bounds are taken as they stand. Throws Error{Errc::store} naming `place`.
[[nodiscard]] Distribution parse_distribution(std::string_view place, std::string_view text);

/// Distributions by their stored text, so that the trials of a study share one object each.
class DistributionCache {
public:
    [[nodiscard]] std::shared_ptr<const Distribution> read(std::string_view place, std::string_view text) {
        return read(text, [&] { return place; });
    }
    /// The same; `place` is called where the text cannot be read.
    template <std::invocable Place>
    [[nodiscard]] std::shared_ptr<const Distribution> read(std::string_view text, const Place& place) {
        const auto known = known_.find(text);
        if (known != known_.end()) return known->second;
        return known_.emplace(text, std::make_shared<const Distribution>(parse_distribution(place(), text))).first->second;
    }

private:
    std::map<std::string, std::shared_ptr<const Distribution>, std::less<>> known_;
};

/// `[{"name": "lr", "value": 0.1, "internal": 0.1, "distribution": {...}}]`: a set of parameters in one column. `internal` is
/// what is read back, `value` is for people.
[[nodiscard]] std::string params_text(const ParamSet& params);
[[nodiscard]] ParamSet parse_params(std::string_view place, std::string_view text, DistributionCache& distributions);

}  // namespace hpo::store

#ifndef HPO_COMPILED
#include "hpo/store/impl/distribution_json_inl.hpp"
#endif
