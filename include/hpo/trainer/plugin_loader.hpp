// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/trainer/plugin_abi.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo {

/// Folders in which plugins are looked for, in this order.
using PluginFolders = std::vector<std::filesystem::path>;

/// A plugin's name and file.
struct PluginFile {
    std::string name;
    std::filesystem::path path;
};

/// Every libhpo_trainer_NAME.so in the folders, sorted by name. If two folders have the same name, the earlier folder wins. Folders that do
/// not exist are ignored.
[[nodiscard]] std::vector<PluginFile> available_plugins(const PluginFolders& folders);

/// The plugin's file. Throws Error{plugin} that lists the folders and their plugins.
[[nodiscard]] std::filesystem::path find_plugin(std::string_view name, const PluginFolders& folders);

/// Throws Error{plugin} for a shared library that ends before the last byte that the loader maps. Loading it could kill the process.
void require_whole_library(const std::filesystem::path& path);

/// What a plugin must be built with to work in this process.
struct PluginDemands {
    /// The LibTorch version of this process, if it has LibTorch. A plugin without LibTorch always fits.
    std::optional<std::string> libtorch_version;
};

/// Loads a plugin's file and checks its entry. The library is never unloaded, because LibTorch does not stop what it has started. Functions
/// that an older plugin lacks are null. Functions that only a newer plugin has are left out.
/// Throws Error{plugin} if the file is no shared library, is no plugin, or has another ABI or another LibTorch.
/// Thread safety: safe.
[[nodiscard]] abi::Entry load_plugin(const std::filesystem::path& path, const PluginDemands& demands = {});

/// Finds and loads a plugin, and makes its trainer. Throws Error{plugin}.
[[nodiscard]] std::unique_ptr<Trainer> load_trainer(std::string_view name, const PluginFolders& folders, const PluginDemands& demands = {});

}  // namespace hpo
