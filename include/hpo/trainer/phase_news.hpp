// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <tuple>

#include "hpo/trainer/json_members.hpp"

namespace hpo {

/// The phase of a check that a trainer is in. It tells it by Progress::tell, so that a crash or a hang has a place.
struct PhaseNews {
    std::string phase;  ///< empty: the news is of another kind
};
template <>
struct JsonMembers<PhaseNews> {
    static constexpr std::tuple list{JsonMember{"phase", &PhaseNews::phase}};
};

}  // namespace hpo
