// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "hpo/core/study.hpp"

namespace hpo::tests {

inline const std::vector<Direction> minimize{Direction::minimize};

}  // namespace hpo::tests
