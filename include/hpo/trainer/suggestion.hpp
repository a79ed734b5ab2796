// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <tuple>

#include "hpo/core/value.hpp"
#include "hpo/trainer/json_members.hpp"

namespace hpo {

/// The answer to a program that asks for a parameter while it runs.
struct Suggestion {
    Value value{};
    std::string error{};  ///< what is wrong with the question; empty: nothing, and `value` is the parameter's
};
template <>
struct JsonMembers<Suggestion> {
    static constexpr std::tuple list{JsonMember{"value", &Suggestion::value}, JsonMember{"error", &Suggestion::error}};
};

}  // namespace hpo
