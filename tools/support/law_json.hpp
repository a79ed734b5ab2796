// SPDX-License-Identifier: MIT
#pragma once

#include "hpo/guard/learned/named_law.hpp"
#include "support/json.hpp"

namespace hpo::tools {

/// A law with its fields, and in words.
[[nodiscard]] inline Json to_json(const guard::NamedLaw& law) {
    static constexpr const char* kinds[] = {"too_few", "none", "constant", "products"};
    Json parts = Json::array();
    for (const auto& part : law.parts) {
        Json factors = Json::array();
        for (const auto& factor : part.factors)
            factors.push_back({{"parameter", text_or_null(factor.name)}, {"power", factor.power}, {"usual", to_json(factor.usual)}});
        Json conditions = Json::array();
        for (const auto& condition : part.conditions)
            conditions.push_back(
                {{"parameter", text_or_null(condition.name)}, {"value", to_json(condition.value)}, {"above", condition.above}});
        parts.push_back({{"bytes", to_json(part.bytes)}, {"factors", std::move(factors)}, {"conditions", std::move(conditions)}});
    }
    const bool has_error = law.kind != guard::NamedLaw::Kind::too_few;
    return {{"kind", kinds[static_cast<std::size_t>(law.kind)]},
            {"words", guard::in_words(law)},
            {"attempts", law.attempts},
            {"attempts_of_other_studies", law.borrowed},
            {"ran_out_of_memory", law.ran_out},
            {"typical_error", has_error ? to_json(law.typical_error) : Json(nullptr)},
            {"parts", std::move(parts)}};
}

}  // namespace hpo::tools
