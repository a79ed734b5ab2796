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

/// Folders in which plugins are looked for, the first one first.
using PluginFolders = std::vector<std::filesystem::path>;

/// A plugin's file, by the name that it is asked for.
struct PluginFile {
    std::string name;
    std::filesystem::path path;
};

/// Every libhpo_trainer_NAME.so in the folders, by name; where two folders have one name, the earlier folder's.
/// Folders that do not exist are passed over.
[[nodiscard]] std::vector<PluginFile> available_plugins(const PluginFolders& folders);

/// The plugin's file; throws Error{plugin} that lists the folders and what they have.
[[nodiscard]] std::filesystem::path find_plugin(std::string_view name, const PluginFolders& folders);

/// The versions that one process can live with.
struct PluginDemands {
    /// LibTorch that the plugin must be built with, when the process has one; a plugin without LibTorch suits all.
    std::optional<std::string> libtorch_version;
};

/// Loads a plugin's file and checks its entry; the library is never unloaded (what LibTorch starts has no end).
/// Functions that a plugin of an older version of this ABI lacks are null, those that it has more are left out.
/// Throws Error{plugin} for a file that is no shared library, no plugin, of another ABI or of another LibTorch.
/// Thread safety: safe.
[[nodiscard]] abi::Entry load_plugin(const std::filesystem::path& path, const PluginDemands& demands = {});

/// Finds, loads and makes a trainer; throws Error{plugin}.
[[nodiscard]] std::unique_ptr<Trainer> load_trainer(std::string_view name, const PluginFolders& folders, const PluginDemands& demands = {});

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/trainer/impl/plugin_loader_inl.hpp"
#endif
