// SPDX-License-Identifier: MIT
#pragma once

#include "hpo/store/sqlite/connection.hpp"
#include "hpo/store/sqlite/optuna_shape.hpp"

namespace hpo::store {

/// Puts a file into write-ahead mode. With `synchronous = NORMAL`, every commit is then safe from a crash of the process. docs/store.md
/// says what a power cut may take. If the file system does not support the mode, every commit is synced instead. Design note: to change the
/// mode, SQLite needs the file for itself, and it does not wait for that by itself.
void choose_journal(Connection& connection);

/// Ends the write-ahead mode of a file that was made without it. If another process has the file open, it stays.
void give_back_journal(Connection& connection);

/// Prepares a file for writing, in one transaction. An empty file gets Optuna's tables. Every file gets our tables, and the parts of them
/// that the version that made the file did not have. A file that is refused does not change.
[[nodiscard]] OptunaShape prepare_file(Connection& connection);

}  // namespace hpo::store
