// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace hpo::tests {

inline constexpr std::int64_t kib = 1 << 10;
inline constexpr std::int64_t mib = 1 << 20;
inline constexpr std::int64_t gib = 1 << 30;

}  // namespace hpo::tests
