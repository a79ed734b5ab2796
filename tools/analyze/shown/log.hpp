// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <vector>

#include "hpo/analysis/logs/log_match.hpp"
#include "support/json.hpp"
#include "support/text.hpp"

namespace hpo::analyze {

/// Reads a log, which gzip may have packed. `names` are those of the parameters that its lines may show. Throws usage for a file that is
/// missing, is no text, or is the log of hpo-tune.
[[nodiscard]] hpo::analysis::ProgramLog read_log(const std::string& path, const hpo::analysis::ParamNames& names);

/// Reads logs of a program that ran studies. Throws what read_log throws, and usage if none of them has a line about a trial or a failure.
[[nodiscard]] std::vector<hpo::analysis::ProgramLog> read_logs(const std::vector<std::string>& paths,
                                                               const hpo::analysis::ParamNames& names);

/// Matches logs with the trials of a study.
[[nodiscard]] hpo::analysis::LogMatch match_logs(std::span<const hpo::analysis::ProgramLog> logs, std::span<const hpo::Trial> trials);

/// Reads the logs of the program that ran one study, and matches them with its trials.
[[nodiscard]] hpo::analysis::LogMatch read_logs(const std::vector<std::string>& paths, std::span<const hpo::Trial> trials);

/// " --log train.log": the words with which a command reads the same logs.
[[nodiscard]] std::string log_words(const std::vector<std::string>& paths);

/// "the log has 2 lines about memory that were not matched to a trial": a headline must tell it. Empty if there are none.
[[nodiscard]] std::string unmatched_text(const hpo::analysis::LogMatch& log);

/// What of the logs belongs to any of several studies. Nothing without a log.
void print_log_totals(const hpo::tools::Page& page, const std::vector<std::string>& paths,
                      std::span<const hpo::analysis::LogMatch> matches);

/// What of the logs belongs to the study, and what does not. Nothing without a log.
void print_log_match(const hpo::tools::Page& page, const std::vector<std::string>& paths, const hpo::analysis::LogMatch& match);

/// Null without a log.
[[nodiscard]] hpo::tools::Json log_json(const std::vector<std::string>& paths, const hpo::analysis::LogMatch& match);

}  // namespace hpo::analyze
