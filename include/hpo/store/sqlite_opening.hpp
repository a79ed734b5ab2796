// SPDX-License-Identifier: MIT
#pragma once

#include "hpo/store/optuna_shape.hpp"
#include "hpo/store/sqlite_connection.hpp"

namespace hpo::store {

/// Puts a file into the write-ahead log. With it, `synchronous = NORMAL` makes every commit safe from a crash of the process
/// (docs/store.md says what a power cut may take); where the file system has no such log, every commit is synced instead.
/// Design note: the change of mode needs the file alone, and SQLite does not wait for that by itself.
void choose_journal(Connection& connection);

/// Makes a file that we can write: Optuna's tables when it is empty, ours, and the parts of ours that came after the version
/// that made the file, in one transaction. A file that is refused stays as it is.
[[nodiscard]] OptunaShape prepare_file(Connection& connection);

}  // namespace hpo::store

#ifndef HPO_COMPILED
#include "hpo/store/impl/sqlite_opening_inl.hpp"
#endif
