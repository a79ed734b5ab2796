// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hpo/core/trial.hpp"
#include "hpo/store/sqlite/connection.hpp"

namespace hpo::store {

/// Store::attempts_of_other_studies for a file. Call it inside Connection::read.
[[nodiscard]] std::vector<Attempt> read_attempts_of_other_studies(Connection& connection, std::int64_t study_id,
                                                                  const std::string& device_name, std::size_t most);

}  // namespace hpo::store
