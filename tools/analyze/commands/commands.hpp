// SPDX-License-Identifier: MIT
#pragma once

#include "analyze/shown/input.hpp"
#include "analyze/shown/overview.hpp"
#include "support/command_line.hpp"

namespace hpo::analyze {

/// For commands that take the logs of the program that ran the study.
void add_log_option(CLI::App* command, Query& query);

/// What logs tell without a store: of memory that ran out, or of all failures.
void log_alone(const Query& query, Overview of);

// One file for each subcommand. The query is filled before a subcommand runs.
void add_summary(tools::CommandLine& line, Query& query);
void add_trials(tools::CommandLine& line, Query& query);
void add_trial(tools::CommandLine& line, Query& query);
void add_best(tools::CommandLine& line, Query& query);
void add_oom(tools::CommandLine& line, Query& query);
void add_failures(tools::CommandLine& line, Query& query);
void add_memory(tools::CommandLine& line, Query& query);
void add_compare(tools::CommandLine& line, Query& query);
void add_snapshot(tools::CommandLine& line, Query& query);

}  // namespace hpo::analyze
