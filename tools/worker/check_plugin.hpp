// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "hpo/trainer/plugin_loader.hpp"

namespace hpo::tools {

/// Loads a plugin into this process, holds it against the contract of trainers and writes a worker::PluginReport as a line to a
/// descriptor; on the way, a line for each thing that it does next. `fixed`: NAME=VALUE for parameters of the job that is tried.
void check_plugin_here(const std::string& name, const PluginFolders& folders, const std::vector<std::string>& fixed, int descriptor);

}  // namespace hpo::tools
