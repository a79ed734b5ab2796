// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace hpo::store {

/// The processes of this host that hold a write lock on an SQLite file, in words: "process 123 (python3)". Empty if /proc/locks names none.
[[nodiscard]] std::string lock_holders(const std::string& path);

}  // namespace hpo::store
