// SPDX-License-Identifier: MIT
#include "hpo/store/sqlite/stored_predictions.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "hpo/base/time.hpp"
#include "hpo/store/location.hpp"
#include "hpo/store/sqlite/opening.hpp"
#include "hpo/store/sqlite/stored_time.hpp"

namespace hpo::store {

StoredPredictions::StoredPredictions(const std::string& address, const PatienceOptions& patience)
    : connection_{file_of(address), Connection::Options{.write = true, .immutable = false, .patience = patience}} {
    static_cast<void>(prepare_file(connection_));
}

std::unique_ptr<StoredPredictions> StoredPredictions::of_existing(const std::string& address) {
    const std::string path = file_of(address);
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) return nullptr;
    for (const bool write : {true, false}) {  // a lock is not waited for long: predictions can be made again
        try {
            std::unique_ptr<StoredPredictions> found{new StoredPredictions{path, write}};
            if (found->has_table()) return found;
        } catch (const Error&) {  // the file is read-only, or no store
        }
    }
    return nullptr;
}

std::optional<std::string> StoredPredictions::find(const std::string& key) {
    try {
        return connection_.read([&]() -> std::optional<std::string> {
            Rows rows = connection_.query("SELECT prediction FROM hpo_predictions WHERE key = ?1", key);
            return rows.next() ? rows.maybe_text(0) : std::nullopt;
        });
    } catch (const Error&) {
        return std::nullopt;
    }
}

void StoredPredictions::keep(const std::string& key, const std::string& prediction) {
    if (!writes_) return;
    connection_.write([&] {
        connection_.run("INSERT OR REPLACE INTO hpo_predictions (key, prediction, predicted_at) VALUES (?1, ?2, ?3)", key, prediction,
                        time_text(now()));
    });
}

bool StoredPredictions::has_table() {
    return connection_.read([&] {
        Rows rows = connection_.query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'hpo_predictions'");
        return rows.next();
    });
}

}  // namespace hpo::store
