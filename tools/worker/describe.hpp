// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "hpo/trainer/plugin_loader.hpp"
#include "hpo/worker/describe.hpp"

namespace hpo::tools {

/// One plugin, loaded into this process.
[[nodiscard]] worker::PluginDescription describe_here(const std::string& name, const PluginFolders& folders);

/// Every plugin in the folders, each loaded by a process of its own: one that crashes, or that brings another LibTorch,
/// costs its own entry alone.
[[nodiscard]] std::vector<worker::PluginDescription> describe_all(const PluginFolders& folders);

}  // namespace hpo::tools
