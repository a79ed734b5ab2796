// SPDX-License-Identifier: MIT
#include "hpo/store/sqlite/opening.hpp"

#include <string>

#include "hpo/store/sqlite/hpo_layout.hpp"
#include "hpo/store/sqlite/optuna_schema.hpp"
#include "store/sqlite/hpo_schema.hpp"

namespace hpo::store {

void choose_journal(Connection& connection) {
    const auto write_ahead = [&] {
        for (int tries = 0;; ++tries) {  // SQLite itself waits for no lock here
            try {
                Rows row = connection.query("PRAGMA journal_mode = WAL");
                return row.next() && row.text(0) == "wal";
            } catch (const SQLite::Exception& error) {
                const bool is_busy = (error.getErrorCode() & 0xFF) == SQLITE_BUSY;
                if (!is_busy || !connection.pause_for_lock(tries)) throw;
            }
        }
    };
    connection.patiently([&] {
        connection.script(write_ahead() ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL");
        connection.script("PRAGMA wal_autocheckpoint = 256");  // pages: 1 MiB, so that the log does not fill a small disk
        connection.script("PRAGMA foreign_keys = OFF");        // Optuna deletes dependent rows in its own code, and so do we
    });
}

namespace {

/// True if the file changes its own pages, with a journal of what they were. That is what SQLite and Optuna make of a new file.
bool rolls_back(Connection& connection) {
    Rows row = connection.query("PRAGMA journal_mode");
    return row.next() && row.text(0) == "delete";
}

}  // namespace

void give_back_journal(Connection& connection) {
    try {
        const bool rolled_back = [&] {
            Rows row = connection.query("SELECT value FROM hpo_meta WHERE key = 'journal_mode'");
            return row.next() && row.text(0) == "delete";
        }();
        if (rolled_back) connection.script("PRAGMA journal_mode = DELETE");
    } catch (const SQLite::Exception&) {  // another process has it open, and closes it later
    }
}

OptunaShape prepare_file(Connection& connection) {
    const auto require_writable = [&](const OptunaShape& shape) {
        if (shape.empty || shape.is_writable()) return;
        throw Error{Errc::store_schema, connection.place() + "has Optuna's revision " + shape.revision +
                                            ", which is too old to be written; run `optuna storage " + "upgrade --storage sqlite:///" +
                                            connection.path() + "` first (reading needs no upgrade)"};
    };
    OptunaShape found = connection.read([&] { return read_shape(connection); });
    require_writable(found);
    const bool is_of_another = !found.empty && !found.has_hpo_tables && rolls_back(connection);
    choose_journal(connection);
    if (found.is_hpo_complete) return found;
    return connection.write([&] {
        const OptunaShape shape = read_shape(connection);  // another process may have made the tables first
        require_writable(shape);
        if (shape.empty) connection.script(optuna::tables);
        complete_layout(connection);
        connection.run("INSERT OR IGNORE INTO hpo_meta (key, value) VALUES ('schema_version', ?1)", std::to_string(hpo_schema_version));
        if (is_of_another) connection.run("INSERT OR IGNORE INTO hpo_meta (key, value) VALUES ('journal_mode', 'delete')");
        return read_shape(connection);
    });
}

}  // namespace hpo::store
