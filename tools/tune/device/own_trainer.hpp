// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "hpo/trainer/trainer.hpp"
#include "hpo/worker/supervisor/describe.hpp"
#include "tune/models/checkpoint_folders.hpp"
#include "tune/models/saved_model.hpp"
#include "tune/settings/settings.hpp"

namespace hpo::tune {

/// The worker program beside this one. Throws Error{plugin} when it is missing.
[[nodiscard]] std::filesystem::path worker_program();

/// Where trainers are looked for before HPO_PLUGIN_PATH and the folder beside bin/: `--plugin-dir`, then the script's.
[[nodiscard]] std::vector<std::filesystem::path> plugin_folders(const std::vector<std::string>& given);

/// What a worker says about the trainers here, so that this program need not load one.
[[nodiscard]] worker::WorkerDescription describe_trainers(const std::vector<std::string>& given_folders,
                                                          std::chrono::milliseconds plugin_timeout);

/// As describe_trainers, for one trainer alone, which stands first. Throws Error{plugin} when it cannot be used.
[[nodiscard]] worker::WorkerDescription describe_one_trainer(const std::string& name, const std::vector<std::string>& given_folders,
                                                             std::chrono::milliseconds plugin_timeout);

/// As describe_one_trainer, for the study's trainer.
[[nodiscard]] worker::WorkerDescription describe_own_trainer(const Settings& settings);

/// What the study's trainer says of itself; the settings take its types (Settings::take_types). Throws as describe_own_trainer.
[[nodiscard]] TrainerInfo describe_trainer(Settings& settings);

/// Throws for a metric or an option of the trainer that it does not have.
void require_known_to_trainer(const Settings& settings, const TrainerInfo& info);

/// Throws Error{bad_value} for a first plan that pulls a lever which the trainer does not have.
void require_plan(const Settings& settings, const TrainerInfo& info);

/// Throws Error{bad_value} where models are to be kept and the trainer saves none. `place` is for the message.
void require_saves_models(const std::string& place, const TrainerInfo& info);

/// What the checkpoints of the study's trials are made under.
[[nodiscard]] CheckpointConditions checkpoint_conditions(const Settings& settings, const TrainerInfo& info);

/// What every model of the study has in common in its manifest.
[[nodiscard]] ModelManifest model_of_study(const Settings& settings, const TrainerInfo& info);

}  // namespace hpo::tune
