// SPDX-License-Identifier: MIT
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <sqlite3.h>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "hpo/base/error.hpp"
#include "hpo/store/file_identity.hpp"
#include "hpo/store/sqlite/lock_holders.hpp"
#include "hpo/store/sqlite/patience.hpp"

namespace hpo::store {

/// The Error for an SQLite error, in words that say what to do. `waited` is how long the call waited for a lock.
[[nodiscard]] Error sqlite_error(const std::string& path, const SQLite::Exception& error, std::chrono::milliseconds waited);

/// A column has a value of a wrong kind, such as a text in place of a number. The file is damaged, or another program wrote it wrongly.
class UnreadableColumn : public Error {
public:
    UnreadableColumn(const std::string& column, const std::string& found, std::string_view expected)
        : Error{Errc::store, column + " holds " + found + "; expected " + std::string{expected}} {}
};

/// The rows of a running query. A text in place of a number throws UnreadableColumn. When this object is gone, the statement is free for
/// its next use.
class Rows {
public:
    explicit Rows(SQLite::Statement& statement) : statement_{&statement} {}
    Rows(Rows&& other) noexcept : statement_{std::exchange(other.statement_, nullptr)} {}
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;
    Rows& operator=(Rows&&) = delete;
    ~Rows() {
        if (statement_) statement_->tryReset();
    }

    bool next() { return statement_->executeStep(); }
    [[nodiscard]] bool is_null(int column) const { return statement_->getColumn(column).isNull(); }
    /// The number of a column, or 0 if it is NULL.
    [[nodiscard]] std::int64_t integer(int column) const { return maybe_integer(column).value_or(0); }
    [[nodiscard]] std::string text(int column) const { return std::string{text_view(column)}; }
    /// Valid until the next row.
    [[nodiscard]] std::string_view text_view(int column) const;
    [[nodiscard]] std::optional<double> real(int column) const;
    [[nodiscard]] std::optional<std::int64_t> maybe_integer(int column) const;
    [[nodiscard]] std::optional<std::string> maybe_text(int column) const {
        return is_null(column) ? std::nullopt : std::optional{text(column)};
    }
    /// Throws UnreadableColumn for what a column of this row holds.
    [[noreturn]] void refuse(int column, std::string_view expected) const { refuse(statement_->getColumn(column), expected); }

private:
    [[noreturn]] static void refuse(const SQLite::Column& value, std::string_view expected);

    SQLite::Statement* statement_;
};

/// Binds the parameters of a statement, ?1 first.
class StatementBinder {
public:
    explicit StatementBinder(SQLite::Statement& statement) : statement_{statement} {}
    template <class T>
    void operator()(const T& value) {
        ++index_;
        if constexpr (std::is_same_v<T, std::nullopt_t>) statement_.bind(index_);
        else if constexpr (std::is_same_v<T, bool>) statement_.bind(index_, value ? 1 : 0);
        else if constexpr (std::is_same_v<T, std::string_view>) statement_.bind(index_, std::string{value});
        else if constexpr (requires { value.has_value(); }) value ? (--index_, (*this)(*value)) : statement_.bind(index_);
        else statement_.bind(index_, value);  // NaN becomes NULL
    }

private:
    SQLite::Statement& statement_;
    int index_ = 0;
};

/// A connection to one SQLite file. It keeps prepared statements, writes in immediate transactions, and throws hpo::Error. Call query() and
/// run() inside read() or write(). Thread safety: one thread per connection.
class Connection {
public:
    struct Options {
        bool write = false;      ///< also creates the file
        bool immutable = false;  ///< no process writes to the file meanwhile, so SQLite needs no lock and no file beside it
        PatienceOptions patience{};
    };

    Connection(std::string path, Options options);

    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection() = default;

    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    [[nodiscard]] std::chrono::milliseconds busy_timeout() const noexcept { return patience_.options().busy_timeout; }
    /// What happened to the file since it was opened, such as "was removed". Returns nullopt if it is in its place.
    [[nodiscard]] std::optional<std::string> displaced();
    /// Writes the whole database to a new file. Throws if there is a file of that name.
    void copy_to(const std::string& path);
    /// "store 'hpo.db': "
    [[nodiscard]] std::string place() const { return "store '" + path_ + "': "; }

    /// Starts a query with its parameters bound, ?1 first.
    template <class... Args>
    [[nodiscard]] Rows query(const char* sql, const Args&... args) {
        SQLite::Statement& ready = statement(sql);
        StatementBinder bind{ready};
        (bind(args), ...);
        return Rows{ready};
    }
    /// Runs a statement and returns how many rows it changed.
    template <class... Args>
    int run(const char* sql, const Args&... args) {
        Rows rows = query(sql, args...);
        rows.next();
        return sqlite3_changes(database_->getHandle());
    }
    /// The same with what `bind_all(StatementBinder&)` binds.
    template <class BindAll>
    requires std::invocable<BindAll&, StatementBinder&>
    int run_bound(const char* sql, BindAll&& bind_all) {
        SQLite::Statement& ready = statement(sql);
        StatementBinder bind{ready};
        bind_all(bind);
        Rows rows{ready};
        rows.next();
        return sqlite3_changes(database_->getHandle());
    }
    /// A text that lives as long as the connection, as a statement's text must.
    [[nodiscard]] const char* kept(std::string sql) { return texts_.insert(std::move(sql)).first->c_str(); }
    /// True for a column that this version knows and the file, which an earlier version made, lacks.
    [[nodiscard]] bool lacks(const std::string& table, const std::string& column) const { return absent_.contains(table + "." + column); }
    void set_absent(std::set<std::string> columns) { absent_ = std::move(columns); }
    void script(const char* sql) { database_->exec(sql); }
    [[nodiscard]] std::int64_t last_id() const { return database_->getLastInsertRowid(); }

    /// Runs `work` in a transaction that holds the write lock from its start. Either all of its changes are stored, or none. If the disk is
    /// full or the file system fails, `work` is run again until it succeeds or PatienceOptions::failure_timeout is over. So it must have
    /// the same effect each time.
    template <class Work>
    auto write(Work&& work) {
        return transaction("BEGIN IMMEDIATE", std::forward<Work>(work));
    }
    /// Runs `work`, which sees one unchanging state of the database. It may be run again, as by `write`.
    template <class Work>
    auto read(Work&& work) {
        return transaction("BEGIN", std::forward<Work>(work));
    }
    /// Runs `work` without a transaction of its own.
    template <class Work>
    auto guarded(Work&& work) -> decltype(work()) {
        try {
            return work();
        } catch (const SQLite::Exception& error) {
            throw sqlite_error(path_, error, patience_.waited());
        } catch (const UnreadableColumn& error) {
            throw Error{error.code(), place() + "column " + error.what()};
        }
    }
    /// Runs `work` without a transaction of its own, and again as by `write`.
    template <class Work>
    auto patiently(Work&& work) -> decltype(work()) {
        return guarded([&] {
            for (;;) {
                try {
                    const Stopwatch taken;
                    if constexpr (std::is_void_v<decltype(work())>) {
                        work();
                        return patience_.succeeded(taken.seconds());
                    } else {
                        auto result = work();
                        patience_.succeeded(taken.seconds());
                        return result;
                    }
                } catch (const SQLite::Exception& error) {
                    if (!wait_for_failure(error)) throw;
                }
            }
        });
    }
    /// True for a file in write-ahead mode, where byte 18 of the header is 2.
    /// Design note: it reads through SQLite. Opening and closing the file in any other way would drop this process's locks on it.
    [[nodiscard]] bool is_write_ahead();
    /// Pauses before the next look at a lock, `tries` of which were in vain. Returns false if the wait has lasted long enough.
    [[nodiscard]] bool pause_for_lock(int tries) {
        return patience_.wait_for_lock(tries, [this] { return lock_holders(path_); });
    }
    /// A number that changes whenever another connection has written, in this process or in another.
    [[nodiscard]] std::int64_t data_version();

private:
    /// Called by SQLite, with the connection, each time it finds the file locked.
    static int wait_for_lock(void* connection, int tries);
    /// True if a call that failed may be tried again now. Sleeps before.
    [[nodiscard]] bool wait_for_failure(const SQLite::Exception& error);

    [[nodiscard]] std::string read_uri() const;

    template <class Work>
    auto transaction(const char* begin, Work&& work) {
        return patiently([&] { return transaction_once(begin, work); });
    }
    template <class Work>
    auto transaction_once(const char* begin, Work& work) {
        run(begin);
        try {
            if constexpr (std::is_void_v<decltype(work())>) {
                work();
                run("COMMIT");
            } else {
                auto result = work();
                run("COMMIT");
                return result;
            }
        } catch (...) {
            if (!sqlite3_get_autocommit(database_->getHandle()))
                sqlite3_exec(database_->getHandle(), "ROLLBACK", nullptr, nullptr, nullptr);
            throw;
        }
    }

    SQLite::Statement& statement(const char* sql);

    std::string path_;
    Options options_;
    Patience patience_;
    std::optional<FileIdentity> opened_;
    std::optional<FileIdentity> journal_;  ///< of the write-ahead log, once it was seen; SQLite keeps it while the file is open
    std::unique_ptr<SQLite::Database> database_;
    std::unordered_map<std::string_view, SQLite::Statement> statements_;  ///< by their text, which must be a string literal, or `kept`
    std::set<std::string> texts_;
    std::set<std::string> absent_;  ///< "table.column"
};

}  // namespace hpo::store
