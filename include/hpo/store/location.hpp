// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace hpo::store {

/// The file of a store's address: a path, `sqlite:///relative.db` or `sqlite:////absolute.db`. Throws an error that names any other kind of
/// address.
[[nodiscard]] std::string file_of(const std::string& address);

/// Throws a clear error where SQLite would only say "unable to open".
void require_openable(const std::string& path, bool may_create);

}  // namespace hpo::store
