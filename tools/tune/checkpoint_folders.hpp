// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

#include "hpo/core/error.hpp"

namespace hpo::tune {

/// Where the attempts of a study's trials keep checkpoints: `STORE.checkpoints/study-ID/trial-N`. A trial that is finished
/// needs none any more.
class CheckpointFolders {
public:
    CheckpointFolders(const std::filesystem::path& store, std::int64_t study_id)
        : root_{std::filesystem::absolute(store.string() + ".checkpoints")}, study_{root_ / ("study-" + std::to_string(study_id))} {}
    CheckpointFolders(const CheckpointFolders&) = delete;
    CheckpointFolders& operator=(const CheckpointFolders&) = delete;
    /// Leaves no empty folder.
    ~CheckpointFolders() {
        std::error_code not_empty;
        std::filesystem::remove(study_, not_empty);
        std::filesystem::remove(root_, not_empty);
    }

    /// The trial's folder, made when it is not there.
    [[nodiscard]] std::string make(std::int64_t trial) const {
        std::error_code error;
        std::filesystem::create_directories(of(trial), error);
        if (error) throw Error{Errc::store, of(trial).string() + ": cannot make this folder for checkpoints: " + error.message()};
        return of(trial).string();
    }
    void remove(std::int64_t trial) const {
        std::error_code ignored;  // what cannot be removed only takes room
        std::filesystem::remove_all(of(trial), ignored);
    }

private:
    [[nodiscard]] std::filesystem::path of(std::int64_t trial) const { return study_ / ("trial-" + std::to_string(trial)); }

    std::filesystem::path root_;
    std::filesystem::path study_;
};

}  // namespace hpo::tune
