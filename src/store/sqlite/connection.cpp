// SPDX-License-Identifier: MIT
#include "hpo/store/sqlite/connection.hpp"

#include <SQLiteCpp/Backup.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "hpo/store/location.hpp"
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

std::string_view Rows::text_view(int column) const {
    const SQLite::Column value = statement_->getColumn(column);
    const char* bytes = value.getText();
    return {bytes, static_cast<std::size_t>(value.getBytes())};
}

std::optional<double> Rows::real(int column) const {
    const SQLite::Column value = statement_->getColumn(column);
    const int type = value.getType();
    if (type == SQLITE_NULL) return std::nullopt;
    if (type != SQLITE_FLOAT && type != SQLITE_INTEGER) refuse(value, "a number");
    return value.getDouble();
}

std::optional<std::int64_t> Rows::maybe_integer(int column) const {
    const SQLite::Column value = statement_->getColumn(column);
    const int type = value.getType();
    if (type == SQLITE_NULL) return std::nullopt;
    if (type != SQLITE_INTEGER) refuse(value, "a whole number");
    return value.getInt64();
}

void Rows::refuse(const SQLite::Column& value, std::string_view expected) {
    std::string text = value.getString().substr(0, 60);
    for (char& c : text) c = static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    const std::string found = value.isBlob()   ? "a blob of " + std::to_string(value.getBytes()) + " bytes"
                              : value.isText() ? "'" + text + "'"
                                               : text;
    throw UnreadableColumn{value.getName(), found, expected};
}

Connection::Connection(std::string path, Options options)
    : path_{std::move(path)}, options_{std::move(options)}, patience_{place(), options_.patience} {
    require_openable(path_, options_.write);
    patiently([&] {
        const int flags =
            options_.write ? SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE : SQLite::OPEN_READONLY | SQLite::OPEN_URI | SQLITE_OPEN_NOMUTEX;
        database_ = std::make_unique<SQLite::Database>(options_.write ? path_ : read_uri(), flags);
        sqlite3_extended_result_codes(database_->getHandle(), 1);
        sqlite3_busy_handler(database_->getHandle(), &wait_for_lock, this);
        if (options_.write && sqlite3_db_readonly(database_->getHandle(), "main") == 1) {
            throw Error{Errc::store, place() + "cannot be written: the file is read-only"};
        }
        // The system keeps the file's pages, so a larger cache saves little time. It would fill the memory of a long run.
        database_->exec("PRAGMA cache_size = -500; PRAGMA temp_store = MEMORY");
    });
    opened_ = file_identity(path_);
}

std::optional<std::string> Connection::displaced() {
    if (!opened_) return std::nullopt;
    if (auto what = displacement(path_, *opened_)) return what;
    const std::string journal = path_ + "-wal";
    const auto now = file_identity(journal);
    if (!journal_) journal_ = now;
    if (now == journal_) return std::nullopt;
    return "lost '" + journal + "', which belongs to it and was " + (now ? "replaced" : "removed");
}

void Connection::copy_to(const std::string& path) {
    // The name is taken first, so that two processes never write to one file.
    const int claimed = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (claimed < 0) throw Error{Errc::store, "store '" + path + "': cannot be made: " + std::generic_category().message(errno)};
    close(claimed);
    try {
        SQLite::Database copy{path, SQLite::OPEN_READWRITE};
        SQLite::Backup{copy, *database_}.executeStep();
    } catch (const SQLite::Exception& error) {
        for (const char* suffix : {"", "-wal", "-shm", "-journal"}) unlink((path + suffix).c_str());
        throw sqlite_error(path, error, busy_timeout());
    }
}

bool Connection::is_write_ahead() {
    sqlite3_file* file = nullptr;
    char version = 0;
    return sqlite3_file_control(database_->getHandle(), "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK && file->pMethods &&
           file->pMethods->xRead(file, &version, 1, 18) == SQLITE_OK && version == 2;
}

std::int64_t Connection::data_version() {
    return patiently([&] {
        Rows rows = query("PRAGMA data_version");
        rows.next();
        return rows.integer(0);
    });
}

int Connection::wait_for_lock(void* connection, int tries) { return static_cast<Connection*>(connection)->pause_for_lock(tries) ? 1 : 0; }

bool Connection::wait_for_failure(const SQLite::Exception& error) {
    if (!Patience::can_pass(error.getExtendedErrorCode())) return false;
    const bool is_full = (error.getErrorCode() & 0xFF) == SQLITE_FULL;
    return patience_.wait_for_failure(is_full ? "the disk is full"
                                              : "reading or writing failed (SQLite: " + std::string{error.what()} + ")");
}

std::string Connection::read_uri() const {
    static constexpr std::string_view hex = "0123456789ABCDEF";
    std::string uri = "file:";
    for (const char c : path_) {
        if (c == '%' || c == '?' || c == '#') {
            uri += '%';
            uri += hex[static_cast<unsigned char>(c) >> 4U];
            uri += hex[static_cast<unsigned char>(c) & 15U];
        } else {
            uri += c;
        }
    }
    return uri + "?mode=ro" + (options_.immutable ? "&immutable=1" : "");
}

SQLite::Statement& Connection::statement(const char* sql) {
    const auto found = statements_.find(std::string_view{sql});
    if (found != statements_.end()) return found->second;
    return statements_.emplace(std::string_view{sql}, SQLite::Statement{*database_, sql}).first->second;
}

}  // namespace hpo::store
