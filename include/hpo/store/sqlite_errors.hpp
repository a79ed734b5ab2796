// SPDX-License-Identifier: MIT
#pragma once

#include <SQLiteCpp/Exception.h>

#include <chrono>
#include <string>

#include "hpo/core/error.hpp"

namespace hpo::store {

/// The Error for what SQLite refused, in words that say what to do. `waited` is how long a lock was waited for.
[[nodiscard]] Error sqlite_error(const std::string& path, const SQLite::Exception& error, std::chrono::milliseconds waited);

}  // namespace hpo::store

#ifndef HPO_COMPILED
#include "hpo/store/impl/sqlite_errors_inl.hpp"
#endif
