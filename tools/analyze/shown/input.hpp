// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/analysis/logs/shown_params.hpp"
#include "hpo/analysis/silent_failures/silent_report.hpp"
#include "hpo/core/history.hpp"

namespace hpo::analyze {

/// What every subcommand is asked with.
struct Query {
    std::string store = "hpo.db";
    std::string study;  ///< empty: the only one
    bool json = false;
    std::vector<std::string> logs;  ///< of the program that ran the study, for the subcommands that take --log
    bool names_store = false;       ///< false: `store` is the default

    /// True if there are logs and no store: neither one nor a study was named, and there is none where it would be by default.
    [[nodiscard]] bool has_logs_alone() const;
};

/// A study as it was read, with all that belongs to it.
struct StudyData {
    std::string store;
    hpo::Study study;
    std::vector<hpo::Trial> trials;
    std::vector<hpo::Rejection> rejections;
    hpo::analysis::AbandonedTrials abandoned{};
    std::optional<double> silent_seconds{};  ///< since the store was written last
    bool lacks_params = false;               ///< the trials were read without their parameters

    [[nodiscard]] hpo::analysis::StudyContext context() const { return {study.directions, abandoned, silent_seconds}; }
};

/// Reads the study that the query names, or the only one of the store. Throws what the store throws, and unknown_name where a name is
/// missing or wrong.
[[nodiscard]] StudyData read_study(const Query& query);

/// The same, for questions that intermediate values do not answer.
[[nodiscard]] StudyData read_study_without_reports(const Query& query);

/// Adds the parameters to trials of `data` that were read without them.
void add_params(StudyData& data, std::span<hpo::Trial> trials);
/// The same for all trials, where the cause of a failure cannot be told without.
void add_params_if_needed(StudyData& data);

/// What each attempt of a trial of `data` wrote; an empty text where nothing is kept.
[[nodiscard]] std::vector<std::string> attempt_logs(const StudyData& data, const hpo::Trial& trial);

/// The studies of the store, without their trials.
[[nodiscard]] std::vector<hpo::Study> known_studies(const Query& query);

/// Reads every study of the store, or only the named one.
[[nodiscard]] std::vector<StudyData> read_studies(const Query& query);

/// As read_study, with no more than causes need. A study that our tools ran is read in brief (store/sqlite/trial_reading.hpp), without
/// reports. Any other study is read whole: only its reports and attributes tell what came of it. So is each one with a log.
[[nodiscard]] StudyData read_study_in_brief(const Query& query);
/// As read_studies, with no more than counts need: in brief, and without parameters.
[[nodiscard]] std::vector<StudyData> read_studies_in_brief(const Query& query);

/// By which names lines of a log may show the parameters of a trial.
[[nodiscard]] hpo::analysis::ParamNames names_of(std::span<const StudyData> studies);

}  // namespace hpo::analyze
