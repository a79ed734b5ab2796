// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hpo/core/trial.hpp"
#include "hpo/store/sqlite_connection.hpp"

namespace hpo::store {

/// Store::attempts_elsewhere of a file. Belongs inside Connection::read.
[[nodiscard]] std::vector<Attempt> read_attempts_elsewhere(Connection& connection, std::int64_t study_id, const std::string& device_name,
                                                           std::size_t most);

}  // namespace hpo::store

#ifndef HPO_COMPILED
#include "hpo/store/impl/attempts_elsewhere_inl.hpp"
#endif
