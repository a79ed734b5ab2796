// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

#include "hpo/store/sqlite.hpp"

namespace hpo::tune {

/// Saves what an open store holds to a new file, for a store whose own file is gone: "hpo.db.rescued-1" beside it. If that folder takes no
/// file, the working folder does, else the folder for temporary files. Never writes to a file that is there. Returns the new file's path.
/// Throws Error{store}.
[[nodiscard]] std::string rescue(store::Sqlite& store);

}  // namespace hpo::tune
