// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

namespace hpo::guard {

/// A part of a law: `bytes` times the powers of its factors. Only configurations for which all its conditions hold have the part.
struct LawTerm {
    struct Factor {
        std::size_t input = 0;
        int power = 1;
    };
    struct Condition {
        std::size_t input = 0;
        double value = 0;
        bool above = false;  ///< true: the amount is above the value; false: the category is the value
        [[nodiscard]] bool holds(const std::vector<double>& row) const { return above ? row[input] > value : row[input] == value; }
    };
    std::vector<Factor> factors;  ///< none: a constant
    std::vector<Condition> conditions;
    double bytes = 0;  ///< for one of each factor
};

/// What laws are learned from. A row has a number for each input: an amount as it is, a category as a whole number, NaN for an input that
/// the run does not have.
struct LawData {
    enum class Kind {
        amount,    ///< a number that is never below 0
        category,  ///< one of some values without an order
        other,     ///< a number to which no part can be proportional
    };
    std::vector<Kind> kinds;
    std::vector<std::vector<double>> rows;
    std::vector<double> log_bytes;
    std::vector<bool> censored;  ///< the run took more than is told
    /// The run is of another study, perhaps with another version of the program: it counts as `borrowed_weight` runs. Empty: none is.
    std::vector<bool> borrowed{};
    static constexpr double borrowed_weight = 0.5;

    [[nodiscard]] bool is_borrowed(std::size_t run) const { return !borrowed.empty() && borrowed[run]; }
    [[nodiscard]] double weight(std::size_t run) const { return is_borrowed(run) ? borrowed_weight : 1; }
};

}  // namespace hpo::guard
