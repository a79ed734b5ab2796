// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/core/trial.hpp"
#include "tune/models/saved_model.hpp"

namespace hpo::tune {

/// Throws Error for a folder in which the best model of this study cannot be kept: it holds something else, or cannot be written. Whether a
/// model in it belongs to a trial of the study stays open. Makes nothing.
void require_usable_model_folder(const std::filesystem::path& folder, const ModelManifest& about);

/// Keeps the model of a study's best trial in one folder, which is whole at every moment. Trials write beside it, and the better model
/// takes the folder's name in one step of the file system. Any number of processes may work at the study, and any of them may be killed.
/// The next one settles what it left.
///
/// Design note: beside FOLDER stands `.FOLDER.pending` with `trial-N`, the model of a trial that runs or has just ended, and
/// `trial-N.json`, the manifest as far as it is known before the end. A trial that is complete in the store has written all of its
/// model, so the store says which pending models are whole. Who decides about them holds a lock on the parent folder, which the kernel
/// lets go when its holder dies. A better model is given its manifest and then exchanged with FOLDER; the old one, now called trial-N,
/// is known by FOLDER's manifest naming that trial, or by its own naming another.
class BestModel {
public:
    /// Where, and what is the same for every model of this run.
    struct Settings {
        std::filesystem::path folder;
        ModelManifest about;  ///< without what a trial adds
        std::vector<TrainerMetric> metrics;
    };

    /// Settles what earlier processes left of the study's trials, which `stored` reads while nobody else decides. Throws Error: the folder
    /// holds something else, or the model of a trial that is not among these; it cannot be written; its file system cannot exchange
    /// folders.
    BestModel(Settings settings, const std::function<std::vector<Trial>()>& stored);
    BestModel(const BestModel&) = delete;
    BestModel& operator=(const BestModel&) = delete;
    /// Leaves no empty folder.
    ~BestModel();

    /// An empty folder for an attempt of this trial. Throws Error{store}.
    [[nodiscard]] std::string make(std::int64_t trial) const;
    /// Takes or drops the model of a trial that is finished in the store. Throws Error{store} when it cannot be kept.
    void finished(const Trial& trial) const;
    /// The same, for all that are finished, whoever ran them.
    void settle(std::span<const Trial> trials) const;

    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return settings_.folder; }
    /// What lies in the folder; nothing: no model yet.
    [[nodiscard]] std::optional<ModelManifest> kept() const;

private:
    class Lock;

    [[nodiscard]] std::filesystem::path pending(std::int64_t trial) const { return pending_ / ("trial-" + std::to_string(trial)); }
    [[nodiscard]] std::filesystem::path draft(std::int64_t trial) const { return pending(trial).string() + ".json"; }
    void require_ours(std::span<const Trial> trials) const;
    void require_exchange() const;
    [[nodiscard]] bool is_better(const Trial& trial) const;
    void settle_pending(std::span<const Trial> trials) const;
    void decide(const Trial& trial) const;
    void discard(std::int64_t trial) const;

    Settings settings_;
    std::filesystem::path pending_;
};

}  // namespace hpo::tune
