// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "hpo/store/sqlite_connection.hpp"

namespace hpo::store {

/// Predicted peaks by what determines them, kept in a store's file for later runs of any of its studies.
/// Thread safety: one thread an object.
class StoredPredictions {
public:
    /// Opens, or makes, the file of a path or `sqlite:///` address.
    explicit StoredPredictions(const std::string& address);

    /// Those of a file that is there: it is neither made nor given tables, and only read where it cannot be written. Null where it is no
    /// store that can keep predictions.
    [[nodiscard]] static std::unique_ptr<StoredPredictions> of_existing(const std::string& address);

    /// Nothing also where the file cannot be read: a prediction can be made again.
    [[nodiscard]] std::optional<std::string> find(const std::string& key);
    /// Does nothing where the file is only read.
    void keep(const std::string& key, const std::string& prediction);

private:
    StoredPredictions(const std::string& path, bool write) : connection_{path, Connection::Options{.write = write}}, writes_{write} {}

    [[nodiscard]] bool has_table();

    Connection connection_;
    bool writes_ = true;
};

}  // namespace hpo::store

#ifndef HPO_COMPILED
#include "hpo/store/impl/stored_predictions_inl.hpp"
#endif
