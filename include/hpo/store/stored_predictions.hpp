// SPDX-License-Identifier: MIT
#pragma once

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
    void keep(const std::string& key, const std::string& prediction) {
        connection_.write([&] {
            connection_.run("INSERT OR REPLACE INTO hpo_predictions (key, prediction, predicted_at) VALUES (?1, ?2, ?3)", key, prediction,
                            time_text(now()));
        });
    }

private:
    Connection connection_;
};

}  // namespace hpo::store
