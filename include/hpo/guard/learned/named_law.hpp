// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "hpo/core/value.hpp"

namespace hpo::guard {

/// What a program's peaks follow, with the names of its parameters, to be told to people.
struct NamedLaw {
    enum class Kind {
        too_few,   ///< too few attempts told their peak
        none,      ///< no sum of products explains the peaks
        constant,  ///< the peak does not depend on the parameters
        products,
    };
    struct Factor {
        std::string name;  ///< of a parameter; empty: the micro-batch of the plan
        int power = 1;
        double usual = 0;  ///< its median in the attempts
    };
    struct Condition {
        std::string name;  ///< of a parameter; empty: the micro-batch of the plan
        Value value;
        bool above = false;  ///< true: attempts with more than the value; false: attempts with the value
    };
    struct Part {
        std::vector<Factor> factors;        ///< none: a constant
        std::vector<Condition> conditions;  ///< only attempts for which all hold have the part
        double bytes = 0;                   ///< for one of each factor
    };

    static constexpr std::size_t least_attempts = 8;  ///< with a measured peak, borrowed ones included
    static constexpr double largest_error = 0.25;     ///< typical_error of a law that is told

    Kind kind = Kind::too_few;
    std::size_t attempts = 0;  ///< that told their peak, of those that count
    std::size_t ran_out = 0;   ///< that ran out of memory, and so told a lower bound
    std::size_t borrowed = 0;  ///< attempts of other studies of the program that told their peak, of those that count
    double typical_error = 0;  ///< median of |law / peak - 1| in five-fold cross-validation; 0 for too_few
    std::vector<Part> parts;   ///< with the constant; of `none` and `too_few` none
};

/// One line: "roughly 200 MiB + 6.0 MiB for each example of batch (from 20 attempts; typical error 2 %)". It says so if there is no law.
[[nodiscard]] std::string in_words(const NamedLaw& law);

}  // namespace hpo::guard
