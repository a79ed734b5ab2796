// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace hpo::store {

/// The file that a store's address names: a path, or `sqlite:///relative.db`, `sqlite:////absolute.db`. Other kinds of address
/// are refused by name.
[[nodiscard]] std::string file_of(const std::string& address);

/// Refuses what SQLite would only call "unable to open".
void require_openable(const std::string& path, bool may_create);

}  // namespace hpo::store

#ifndef HPO_COMPILED
#include "hpo/store/impl/location_inl.hpp"
#endif
