// SPDX-License-Identifier: MIT
#include "hpo/store/sqlite/errors.hpp"

#include <SQLiteCpp/Exception.h>
#include <sqlite3.h>
#include <chrono>
#include <fstream>
#include <string>

#include "hpo/store/sqlite/lock_holders.hpp"

namespace hpo::store {

/// What a file is that SQLite cannot read, and what to do about it.
inline std::string no_database_text(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    std::string beginning(4096, '\0');
    file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
    beginning.resize(static_cast<std::size_t>(file.gcount()));
    if (!beginning.starts_with('{') || beginning.substr(0, beginning.find('\n')).find("\"op_code\"") == std::string::npos)
        return "is not an SQLite database; expected a file written by hpo or Optuna, or a new one";
    return "is a journal of Optuna, and not an SQLite database; what hpo-tune has run is also in its store; copy a study of the journal "
           "to a file with: python3 -c \"import optuna; from optuna.storages import JournalStorage, journal; "
           "optuna.copy_study(from_study_name='NAME', from_storage=JournalStorage(journal.JournalFileBackend('" +
           path + "')), to_storage='sqlite:///copy.db')\"";
}

Error sqlite_error(const std::string& path, const SQLite::Exception& error, std::chrono::milliseconds waited) {
    const std::string place = "store '" + path + "': ";
    const std::string detail = " (SQLite: " + std::string{error.what()} + ")";
    if (error.getExtendedErrorCode() == SQLITE_READONLY_ROLLBACK) {
        return {Errc::store,
                place + "a program died while it wrote, and " + path +
                    "-journal holds what must be taken back first; keep a copy of both files, then let a program that may write "
                    "open it: `sqlite3 " +
                    path + " 'PRAGMA quick_check'`, or the study's own program"};
    }
    switch (error.getErrorCode() & 0xFF) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED: {
            const std::string holders = lock_holders(path);
            return {Errc::store_unavailable, place + "locked for more than " + std::to_string(waited.count()) + " ms by " +
                                                 (holders.empty() ? "another process; `fuser " + path + "` may name it" : holders) +
                                                 "; nothing was written, try again when it has finished"};
        }
        case SQLITE_NOTADB: return {Errc::store_schema, place + no_database_text(path)};
        case SQLITE_CORRUPT: return {Errc::store, place + "is damaged" + detail + "; keep a copy and try `sqlite3 " + path + " .recover`"};
        case SQLITE_READONLY:
        case SQLITE_PERM: return {Errc::store, place + "cannot be written: the file or its directory is read-only" + detail};
        case SQLITE_CANTOPEN:
            return {Errc::store,
                    place + "cannot be opened: the file and its directory must exist and be readable and, to write, writable" + detail};
        case SQLITE_FULL: return {Errc::store_unavailable, place + "the disk is full" + detail + "; what was written before is safe"};
        case SQLITE_IOERR:
            return {Errc::store_unavailable, place + "reading or writing failed" + detail + "; is the disk full, or a quota reached?"};
        default: return {Errc::store, place + "SQLite failed: " + error.what()};
    }
}

}  // namespace hpo::store
