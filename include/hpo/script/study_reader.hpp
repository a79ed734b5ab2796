// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "hpo/script/lua_value.hpp"
#include "hpo/script/study_description.hpp"

/// Reads the table that a script gives to hpo.study. Every problem is a Lua error `file:line: hpo.study: ...`.
namespace hpo::script::study_reader {

inline const std::string context = "hpo.study";
inline constexpr std::size_t max_options = 1000;
/// Options of `run` that are passed on as text. The command checks them in the same way as its own options.
inline constexpr std::array<std::string_view, 24> text_options{
    "store",        "time",           "device",          "device_memory",   "compute_capability", "ledger",  "workers",      "threads",
    "target_share", "plugin_timeout", "plugin_dir",      "progress",        "save_best",          "breaker", "attempt_time", "silence_time",
    "min_free",     "device_wait",    "device_interval", "fallback_device", "worker_trials",      "log",     "log_size",     "store_wait"};

/// A value as text for a command-line option.
std::string option_text(lua_State* L, int index, const std::string& what);

/// Reads a table `{ "name", option = value }` or `{ name = "name", option = value }`. Returns the name; `options` receives the options.
std::string named_table(lua_State* L, int index, const std::string& what, std::map<std::string, Value, std::less<>>& options);

/// A policy as text, given as text or as a table.
std::optional<std::string> policy(lua_State* L, const Fields& fields, const char* key, StudyDescription& study);

Objective objective(lua_State* L, int index, const std::string& what);

void objectives(lua_State* L, const Fields& fields, StudyDescription& study);

/// Reads the options of `run`, with the checks that need no other part of the program.
void run_options(lua_State* L, const Fields& fields, StudyDescription& study);

/// Reads the plan of first attempts: levers, as hpo.retry takes them.
void first_plan(lua_State* L, const Fields& fields, StudyDescription& study);

/// Reads everything except the functions.
void read(lua_State* L, int index, StudyDescription& study);

}  // namespace hpo::script::study_reader
