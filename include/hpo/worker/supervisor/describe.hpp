// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hpo/trainer/trainer.hpp"
#include "hpo/worker/environment.hpp"
#include "hpo/worker/supervisor/process.hpp"
#include "hpo/worker/supervisor/process_output.hpp"

namespace hpo::worker {

/// What `hpo-worker --describe` says about one plugin.
struct PluginDescription {
    std::string name;
    std::string path;
    std::optional<TrainerInfo> info;   ///< LibTorch's version included
    std::optional<std::string> error;  ///< instead of info: why it cannot be used

    static constexpr void fields(auto field) {
        field("name", &PluginDescription::name);
        field("path", &PluginDescription::path);
        field("info", &PluginDescription::info);
        field("error", &PluginDescription::error);
    }
};

/// Everything that `hpo-worker --describe` says.
struct WorkerDescription {
    std::string version;
    std::uint32_t plugin_abi = 0;
    std::vector<std::string> folders;  ///< searched in this order
    std::vector<PluginDescription> plugins;

    static constexpr void fields(auto field) {
        field("version", &WorkerDescription::version);
        field("plugin_abi", &WorkerDescription::plugin_abi);
        field("folders", &WorkerDescription::folders);
        field("plugins", &WorkerDescription::plugins);
    }
};

/// How long one plugin may take to describe itself. A plugin that takes longer counts as hanging.
inline constexpr std::chrono::milliseconds default_plugin_timeout{60'000};

/// How to ask for a description.
struct DescriptionRequest {
    std::filesystem::path worker_program;
    std::vector<std::filesystem::path> plugin_folders;
    std::string trainer;  ///< empty: all
    std::chrono::milliseconds plugin_timeout = default_plugin_timeout;
    Environment environment = inherited_environment();
};

}  // namespace hpo::worker

namespace hpo::worker {

/// Asks `hpo-worker --describe`, so that a supervisor never loads a plugin itself. A plugin that cannot be used, crashes or hangs gets an
/// entry with an error that names its file, even if it was asked for by name. Throws Error{plugin} if the program's answer cannot be read.
[[nodiscard]] WorkerDescription describe_plugins(const DescriptionRequest& request);

}  // namespace hpo::worker
