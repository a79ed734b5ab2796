// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/param_set.hpp"
#include "hpo/core/study.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/store/sqlite/patience.hpp"
#include "hpo/store/store.hpp"
#include "hpo/trainer/trainer.hpp"
#include "tune/settings/settings.hpp"

namespace hpo::tune {

/// How a run waits for its store, as --store-wait says. `tell` is told of long waits. `gives_up` is PatienceOptions::gives_up.
[[nodiscard]] store::PatienceOptions store_patience(const Settings& settings, std::function<void(const std::string&)> tell,
                                                    std::function<bool()> gives_up);

/// What this run has that the study's latest run had otherwise, for one line: the device's memory, the parameters of the space. Empty if
/// nothing changed, or if the latest run did not say. `configuration` is that of this run. Waits for the file as `patience` says.
[[nodiscard]] std::string changed_since_latest_run(const std::string& file, const Study& study, const std::string& configuration,
                                                   const store::PatienceOptions& patience);

/// The study of this name, or the only one if the name is empty. Throws unknown_name if there is none. `place` names the store.
[[nodiscard]] const Study& study_named(const std::string& place, const std::vector<Study>& studies, const std::string& name);

/// Throws Error{store} for a store that a run could not write: its file, or the folder, where SQLite keeps its journal. Nothing is left.
void require_writable_store(const std::string& file);
/// Throws Error{store_unavailable} if the disk of a store stays full for as long as `patience` waits. Nothing is made.
void require_room_for_store(const std::string& file, const store::PatienceOptions& patience);

/// What a study keeps in its system attributes for all its trials, since values of different ones cannot be compared: key and value.
[[nodiscard]] std::array<std::pair<std::string, std::string>, 2> identity(const Settings& settings);

/// Throws bad_value where the stored study has another trainer or metric than the script.
void require_same_identity(const Study& stored, const Settings& settings);

/// The options of the study's trainer as the study keeps them, in `tools::trainer_options_attribute`: JSON text.
[[nodiscard]] std::string trainer_options_text(const Settings& settings);

/// Throws bad_value where the stored study's trials have other options of the trainer than the script, unless that is accepted. An option
/// that one of them leaves out has the trainer's standard. A study that does not tell its options, as those of earlier versions, and one
/// of which no trial has begun have none that could differ.
void require_same_options(const Study& stored, const std::vector<Trial>& trials, const Settings& settings, const TrainerInfo& info);

/// Writes the options to the study in the store's file when a trial begins with them. Throws as require_same_options where another run has
/// begun trials with other options since `stored` was read. Waits for the file as `patience` says.
void keep_trainer_options(Store& store, const std::string& file, const Study& stored, const Settings& settings, const TrainerInfo& info,
                          const store::PatienceOptions& patience);

/// Throws bad_value where the script's parameters do not go with those of the study's trials.
void require_same_parameters(const std::vector<Trial>& stored, const std::vector<ParamSet>& proposals);

}  // namespace hpo::tune
