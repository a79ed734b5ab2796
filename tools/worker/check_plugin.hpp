// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "hpo/trainer/plugin_loader.hpp"

namespace hpo::tools {

/// Loads a plugin into this process and holds it against the contract of trainers. To the descriptor it writes a line before each thing
/// that it does, then a worker::PluginReport. `fixed` has NAME=VALUE for parameters of the job that is tried.
void check_plugin_here(const std::string& name, const PluginFolders& folders, const std::vector<std::string>& fixed, int descriptor);

}  // namespace hpo::tools
