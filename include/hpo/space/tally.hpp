// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "hpo/core/distribution.hpp"

namespace hpo {

/// Whole numbers that stop at the largest one instead of overflowing.
[[nodiscard]] inline std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
    return a > std::numeric_limits<std::uint64_t>::max() - b ? std::numeric_limits<std::uint64_t>::max() : a + b;
}
[[nodiscard]] inline std::uint64_t saturating_multiply(std::uint64_t a, std::uint64_t b) {
    return b != 0 && a > std::numeric_limits<std::uint64_t>::max() / b ? std::numeric_limits<std::uint64_t>::max() : a * b;
}

/// The combinations of a space or a part of it: in total, and for each value of each categorical parameter.
struct Tally {
    struct Part {
        std::uint64_t accepted = 0;
        std::uint64_t refused = 0;
        std::set<std::uint64_t> shapes;  ///< hashes of the sequences of parameters that occur

        void add(const Part& other, std::uint64_t times) {
            accepted = saturating_add(accepted, saturating_multiply(other.accepted, times));
            refused = saturating_add(refused, saturating_multiply(other.refused, times));
            shapes.insert(other.shapes.begin(), other.shapes.end());
        }
    };
    struct Parameter {
        std::string name;
        std::vector<Value> choices;
        std::map<std::size_t, Part> parts;  ///< by choice
    };

    Part whole;
    std::vector<Parameter> categoricals;  ///< in order of first appearance

    Parameter& categorical(const std::string& name, const CategoricalDistribution& distribution) {
        for (Parameter& known : categoricals) {
            if (known.name == name) return known;
        }
        return categoricals.emplace_back(Parameter{name, distribution.choices, {}});
    }
    /// Adds `times` copies of another part's categoricals. Does not change `whole`.
    void add_categoricals(const Tally& other, std::uint64_t times) {
        for (const Parameter& theirs : other.categoricals) {
            Parameter& ours = categorical(theirs.name, CategoricalDistribution{theirs.choices});
            for (const auto& [choice, part] : theirs.parts) ours.parts[choice].add(part, times);
        }
    }
};

}  // namespace hpo
