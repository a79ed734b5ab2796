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

/// The text `{"name": "FloatDistribution", "attributes": {...}}`, as Optuna writes it to `trial_params.distribution_json`.
[[nodiscard]] std::string distribution_text(const Distribution& distribution);

/// Reads what distribution_text writes. It also knows the names that Optuna used before 3.0, and the short form
/// `{"type": "float", "low": 0, "high": 1}`. Bounds are read without a change. Throws Error{Errc::store} that names `place`.
[[nodiscard]] Distribution parse_distribution(std::string_view place, std::string_view text);

/// Distributions by their stored text, so that the trials of a study share one object each.
class DistributionCache {
public:
    [[nodiscard]] std::shared_ptr<const Distribution> read(std::string_view place, std::string_view text) {
        return read(text, [&] { return place; });
    }
    /// The same, but `place` is a function. It is only called if the text cannot be read.
    template <std::invocable Place>
    [[nodiscard]] std::shared_ptr<const Distribution> read(std::string_view text, const Place& place) {
        const auto known = known_.find(text);
        if (known != known_.end()) return known->second;
        return known_.emplace(text, std::make_shared<const Distribution>(parse_distribution(place(), text))).first->second;
    }

private:
    std::map<std::string, std::shared_ptr<const Distribution>, std::less<>> known_;
};

/// A set of parameters as the text of one column: `[{"name": "lr", "value": 0.1, "internal": 0.1, "distribution": {...}}]`. `internal` is
/// read back, and `value` is for people.
[[nodiscard]] std::string params_text(const ParamSet& params);
[[nodiscard]] ParamSet parse_params(std::string_view place, std::string_view text, DistributionCache& distributions);

}  // namespace hpo::store
