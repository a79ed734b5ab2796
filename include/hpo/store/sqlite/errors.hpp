// SPDX-License-Identifier: MIT
#pragma once

#include <SQLiteCpp/Exception.h>

#include <chrono>
#include <string>

#include "hpo/base/error.hpp"

namespace hpo::store {

/// The Error for an SQLite error, in words that say what to do. `waited` is how long the call waited for a lock.
[[nodiscard]] Error sqlite_error(const std::string& path, const SQLite::Exception& error, std::chrono::milliseconds waited);

}  // namespace hpo::store
