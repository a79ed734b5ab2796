// SPDX-License-Identifier: MIT
#include "describe.hpp"

namespace hpo::tools {

worker::PluginDescription describe_here(const std::string& name, const PluginFolders& folders) {
    worker::PluginDescription description{.name = name};
    try {
        description.path = find_plugin(name, folders).string();
        description.info = load_trainer(name, folders).release()->info();  // never destroyed: LibTorch's end is not orderly
    } catch (const Error& error) {
        description.error = error.what();
    }
    return description;
}

std::vector<worker::PluginDescription> describe_all(const PluginFolders& folders) {
    std::vector<worker::PluginDescription> descriptions;
    for (const PluginFile& plugin : available_plugins(folders)) {
        worker::PluginDescription description{.name = plugin.name, .path = plugin.path.string()};
        try {
            auto answer = worker::describe_plugins(
                {.worker_program = std::filesystem::read_symlink("/proc/self/exe"), .plugin_folders = folders, .trainer = plugin.name});
            if (!answer.plugins.empty()) description = std::move(answer.plugins.front());
        } catch (const Error& error) {
            description.error = error.what();
        }
        descriptions.push_back(std::move(description));
    }
    return descriptions;
}

}  // namespace hpo::tools
