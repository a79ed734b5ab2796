// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hpo/core/history.hpp"

namespace hpo_analyze {

/// What every subcommand is asked with.
struct Query {
    std::string store = "hpo.db";
    std::string study;  ///< empty: the only one
    bool json = false;
    std::vector<std::string> logs;  ///< of the program that ran the study, for the subcommands that take --log
};

/// A study as it was read, with all that belongs to it.
struct StudyData {
    std::string store;
    hpo::Study study;
    std::vector<hpo::Trial> trials;
    std::vector<hpo::Rejection> rejections;
};

/// Reads the study that the query names, or the only one of the store. Throws what the store throws, and unknown_name where a name is
/// missing or wrong.
[[nodiscard]] StudyData read_study(const Query& query);

/// Reads every study of the store, or only the named one.
[[nodiscard]] std::vector<StudyData> read_studies(const Query& query);

}  // namespace hpo_analyze
