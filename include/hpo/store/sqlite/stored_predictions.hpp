// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "hpo/store/sqlite/connection.hpp"

namespace hpo::store {

/// Predicted peaks by their key, kept in a store's file for later runs of any of its studies.
/// Thread safety: one thread per object.
class StoredPredictions {
public:
    /// Opens, or makes, the file of a path or `sqlite:///` address.
    explicit StoredPredictions(const std::string& address, const PatienceOptions& patience = {});

    /// Opens an existing file. It does not make the file or any table. If the file cannot be written, it is only read. Null if the file is
    /// no store that can keep predictions.
    [[nodiscard]] static std::unique_ptr<StoredPredictions> of_existing(const std::string& address);

    /// Returns nullopt if there is no prediction of this key. Returns nullopt too if the file cannot be read, because a prediction can be
    /// made again.
    [[nodiscard]] std::optional<std::string> find(const std::string& key);
    /// Does nothing if the file is only read.
    void keep(const std::string& key, const std::string& prediction);

private:
    static constexpr std::chrono::milliseconds short_wait{1'000};

    StoredPredictions(const std::string& path, bool write)
        : connection_{path, Connection::Options{.write = write, .patience = {.busy_timeout = short_wait}}}, writes_{write} {}

    [[nodiscard]] bool has_table();

    Connection connection_;
    bool writes_ = true;
};

}  // namespace hpo::store
