// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hpo/core/trial.hpp"
#include "tune/models/best_model.hpp"

namespace hpo::tune {

/// What is kept of the study's models in the end.
struct KeptModel {
    std::filesystem::path folder;
    std::optional<ModelManifest> manifest;  ///< nothing: no model
    std::string problem;                    ///< why some model could not be kept; empty: none

    [[nodiscard]] bool is_of(const Trial* best) const { return best && manifest && manifest->trial == best->number; }
};

/// Keeps the best model of a run whose trials count even if their models cannot be kept. What goes wrong is noted, and told in the end.
class ModelKeeper {
public:
    using Note = std::function<void(const std::string&)>;

    /// Throws as BestModel does.
    ModelKeeper(BestModel::Settings settings, const std::function<std::vector<Trial>()>& stored, Note note);

    /// The folder for an attempt of this trial; empty: there can be none.
    [[nodiscard]] std::string make(std::int64_t trial);
    /// Takes or drops the model of a trial that is finished in the store.
    void finished(const Trial& trial);
    /// Decides about the models of all trials after the last one, those of processes that were killed, too.
    [[nodiscard]] KeptModel settle(const std::vector<Trial>& trials);

private:
    void failed(const std::string& why);

    BestModel best_;
    Note note_;
    std::string problem_;  ///< the latest
};

}  // namespace hpo::tune
