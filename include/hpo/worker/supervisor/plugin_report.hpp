// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/trainer/trainer.hpp"
#include "hpo/worker/environment.hpp"

namespace hpo::worker {

/// What `hpo-worker --check-plugin` says: whether a plugin keeps the contract of trainers.
struct PluginReport {
    std::string name;
    std::string path;
    std::optional<TrainerInfo> info;
    Values tried;                          ///< the parameters of the tried job that do not have their standard values
    std::vector<TrainerProblem> problems;  ///< what breaks the contract
    std::vector<std::string> remarks;      ///< what the trainer logged while it checked the job
    std::optional<std::string> error;      ///< instead of the rest: why the plugin cannot be used, or what is missing to try it
    int status = 0;                        ///< the exit code for the error

    static constexpr void fields(auto field) {
        field("name", &PluginReport::name);
        field("path", &PluginReport::path);
        field("info", &PluginReport::info);
        field("tried", &PluginReport::tried);
        field("problems", &PluginReport::problems);
        field("remarks", &PluginReport::remarks);
        field("error", &PluginReport::error);
        field("status", &PluginReport::status);
    }
};

/// The steps of `hpo-worker --check-plugin` before a plugin has told what it is. The plugin's file follows.
inline constexpr std::string_view load_step = "load ";
inline constexpr std::string_view describe_step = "describe ";

/// Which plugin to check against the contract, and how.
struct PluginReportRequest {
    std::filesystem::path worker_program;
    std::vector<std::filesystem::path> plugin_folders;
    std::string trainer;
    std::vector<std::string> fixed;  ///< NAME=VALUE, for parameters of the job
    std::chrono::milliseconds time_limit{600'000};
    Environment environment = inherited_environment();
};

}  // namespace hpo::worker

namespace hpo::worker {

/// Lets a worker check a plugin against the contract, so that a supervisor never loads it. If the plugin crashes or hangs, the report has a
/// problem that says where. If that is before it has told what it is, the report has an error that names its file.
[[nodiscard]] PluginReport report_on_plugin(const PluginReportRequest& request);

}  // namespace hpo::worker
