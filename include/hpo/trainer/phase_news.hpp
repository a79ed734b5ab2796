// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <tuple>

#include "hpo/trainer/json.hpp"

namespace hpo {

/// Where a trainer is, as it tells it by Progress::tell in a check: a crash or a hang then has a place.
struct PhaseNews {
    std::string phase;  ///< empty: the news are of another kind
};
template <>
struct JsonMembers<PhaseNews> {
    static constexpr std::tuple list{JsonMember{"phase", &PhaseNews::phase}};
};

}  // namespace hpo
