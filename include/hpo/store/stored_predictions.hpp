// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "hpo/core/time.hpp"
#include "hpo/store/sqlite_opening.hpp"
#include "hpo/store/stored_time.hpp"

namespace hpo::store {

/// Predicted peaks by what determines them, kept in a store's file for later runs of any of its studies.
/// Thread safety: one thread an object.
class StoredPredictions {
public:
    /// Opens, or makes, the file of a path or `sqlite:///` address.
    explicit StoredPredictions(const std::string& address) : connection_{file_of(address), Connection::Options{.write = true}} {
        static_cast<void>(prepare_file(connection_));
    }

    /// Those of a file that is there: it is neither made nor given tables, and only read where it cannot be written. Null where it is no
    /// store that can keep predictions.
    [[nodiscard]] static std::unique_ptr<StoredPredictions> of_existing(const std::string& address) {
        const std::string path = file_of(address);
        std::error_code ignored;
        if (!std::filesystem::is_regular_file(path, ignored)) return nullptr;
        for (const bool write : {true, false}) {
            try {
                std::unique_ptr<StoredPredictions> found{new StoredPredictions{path, write}};
                if (found->has_table()) return found;
            } catch (const Error&) {  // read-only, or no store at all
            }
        }
        return nullptr;
    }

    /// Nothing also where the file cannot be read: a prediction can be made again.
    [[nodiscard]] std::optional<std::string> find(const std::string& key) {
        try {
            return connection_.read([&]() -> std::optional<std::string> {
                Rows rows = connection_.query("SELECT prediction FROM hpo_predictions WHERE key = ?1", key);
                return rows.next() ? rows.maybe_text(0) : std::nullopt;
            });
        } catch (const Error&) {
            return std::nullopt;
        }
    }
    /// Does nothing where the file is only read.
    void keep(const std::string& key, const std::string& prediction) {
        if (!writes_) return;
        connection_.write([&] {
            connection_.run("INSERT OR REPLACE INTO hpo_predictions (key, prediction, predicted_at) VALUES (?1, ?2, ?3)", key, prediction,
                            time_text(now()));
        });
    }

private:
    StoredPredictions(const std::string& path, bool write) : connection_{path, Connection::Options{.write = write}}, writes_{write} {}

    [[nodiscard]] bool has_table() {
        return connection_.read([&] {
            Rows rows = connection_.query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'hpo_predictions'");
            return rows.next();
        });
    }

    Connection connection_;
    bool writes_ = true;
};

}  // namespace hpo::store
