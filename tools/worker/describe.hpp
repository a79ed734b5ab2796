// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <string>

#include "hpo/trainer/plugin_loader.hpp"
#include "hpo/worker/supervisor/describe.hpp"

namespace hpo::tools {

/// Loads a plugin into this process and describes it to `descriptor`. It writes a line before each step that may crash or hang, then the
/// description as one line of JSON.
void describe_here(const std::string& name, const PluginFolders& folders, int descriptor);

/// One plugin, or every one in the folders if the name is empty. A process of its own loads each. So a plugin that crashes, hangs for
/// longer than `limit`, prints or brings another LibTorch costs its own entry alone.
[[nodiscard]] std::vector<worker::PluginDescription> describe_apart(const std::string& name, const PluginFolders& folders,
                                                                    std::chrono::milliseconds limit);

}  // namespace hpo::tools
