// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hpo/core/trial.hpp"

namespace hpo::tune {

/// What decides, beside a trial's own parameters, whether a checkpoint can be gone on from: trainer, options, seed, the data's files.
using CheckpointConditions = std::map<std::string, std::string>;

/// Adds a file, or the files of a folder, with length and time of the last change; nothing where `text` names neither.
void add_files(CheckpointConditions& conditions, const std::string& text, const std::filesystem::path& store);

/// Where the attempts of a study's trials keep checkpoints: `STORE.checkpoints/study-ID/trial-N`, and beside it, in `trial-N.json`, what
/// they were made under. A trial that is finished needs none any more, but for one that was lost, with which another may go on.
class CheckpointFolders {
public:
    /// `conditions` are those of the study.
    CheckpointFolders(std::filesystem::path store, std::int64_t study_id, CheckpointConditions conditions);
    CheckpointFolders(const CheckpointFolders&) = delete;
    CheckpointFolders& operator=(const CheckpointFolders&) = delete;
    /// Leaves no empty folder.
    ~CheckpointFolders();

    /// The trial's folder, made when it is not there; of a trial that goes on with others, the folder that they left. Throws Error{store}.
    [[nodiscard]] std::string make(const Trial& trial) const;
    /// Whether a lost trial left checkpoints: nothing when it did not, else why they cannot be gone on from; without characters: they can.
    [[nodiscard]] std::optional<std::string> left_by(const Trial& lost) const;
    /// Removes what a finished trial needs no more.
    void finished(const Trial& trial) const;
    /// Removes what no trial needs any more, those of processes that were killed included; `over`: no trial will be begun.
    void settle(const std::vector<Trial>& trials, bool over) const;

private:
    [[nodiscard]] std::filesystem::path of(std::int64_t trial) const { return study_ / ("trial-" + std::to_string(trial)); }
    [[nodiscard]] std::filesystem::path conditions_file(std::int64_t trial) const { return of(trial).concat(".json"); }
    [[nodiscard]] CheckpointConditions conditions_of(const Trial& trial) const;
    /// The number under which a trial's checkpoints lie: its own, or that of one that it goes on with.
    [[nodiscard]] std::optional<std::int64_t> place_of(const Trial& trial) const;
    void remove(std::int64_t trial) const;

    std::filesystem::path store_;
    std::filesystem::path root_;
    std::filesystem::path study_;
    CheckpointConditions conditions_;
};

}  // namespace hpo::tune
