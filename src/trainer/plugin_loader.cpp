// SPDX-License-Identifier: MIT
#include "hpo/trainer/plugin_loader.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <boost/dll/shared_library.hpp>
#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "trainer/plugin_trainer.hpp"

namespace hpo {

std::vector<PluginFile> available_plugins(const PluginFolders& folders) {
    static constexpr std::string_view prefix = "libhpo_trainer_";
    std::vector<PluginFile> found;
    for (const auto& folder : folders) {
        std::error_code ignored;
        for (const auto& item : std::filesystem::directory_iterator{folder, ignored}) {
            const std::string file = item.path().filename().string();
            if (!file.starts_with(prefix) || item.path().extension() != ".so") continue;
            std::string name = file.substr(prefix.size(), file.size() - prefix.size() - 3);
            const bool known = std::any_of(found.begin(), found.end(), [&](const PluginFile& plugin) { return plugin.name == name; });
            if (!known && !name.empty()) found.push_back({std::move(name), item.path()});
        }
    }
    std::sort(found.begin(), found.end(), [](const PluginFile& a, const PluginFile& b) { return a.name < b.name; });
    return found;
}

namespace detail {

/// The command that builds a plugin that a source tree has and its build folder lacks. Empty if no searched folder belongs to such a tree.
[[nodiscard]] std::string build_command(std::string_view name, const PluginFolders& folders) {
    static constexpr std::string_view home = "CMAKE_HOME_DIRECTORY:INTERNAL=";
    for (const auto& folder : folders) {
        const std::filesystem::path build = (folder / "../../..").lexically_normal();  // from lib/hpo/trainers
        std::ifstream cache{build / "CMakeCache.txt"};
        for (std::string line; std::getline(cache, line);) {
            std::error_code ignored;
            if (!line.starts_with(home)) continue;
            if (!std::filesystem::exists(std::filesystem::path{line.substr(home.size())} / "plugins" / name / "CMakeLists.txt", ignored))
                continue;
            std::string shown = build.string();
            while (shown.size() > 1 && shown.ends_with('/')) shown.pop_back();
            return "cmake --build " + shown + " --target hpo_trainer_" + std::string{name};
        }
    }
    return {};
}

}  // namespace detail

std::filesystem::path find_plugin(std::string_view name, const PluginFolders& folders) {
    std::vector<std::string> known;
    for (const PluginFile& plugin : available_plugins(folders)) {
        if (plugin.name == name) return plugin.path;
        known.push_back(plugin.name);
    }
    std::string searched;
    for (const auto& folder : folders) searched += (searched.empty() ? "" : ", ") + folder.string();
    std::string text = "trainer " + std::string{name} + ": no libhpo_trainer_" + std::string{name} + ".so";
    if (const std::string command = detail::build_command(name, folders); !command.empty()) text += "; it is not built yet: " + command;
    else if (const auto near = nearest_name(name, known); !near.empty()) text += "; did you mean '" + std::string{near} + "'?";
    throw Error{Errc::plugin, text + "; known: " + join_names(known) + "; searched: " + (searched.empty() ? "no folders" : searched) +
                                  " (--plugin-dir adds a folder)"};
}

void require_whole_library(const std::filesystem::path& path) {
    std::ifstream file{path, std::ios::binary};
    Elf64_Ehdr head{};
    const bool is_elf = file.read(reinterpret_cast<char*>(&head), sizeof head) && std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0;
    if (!is_elf || head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr)) return;  // load_plugin says it
    std::error_code failed;
    const std::uintmax_t size = std::filesystem::file_size(path, failed);
    std::uintmax_t wanted = head.e_phoff + std::uintmax_t{head.e_phnum} * sizeof(Elf64_Phdr);
    file.seekg(static_cast<std::streamoff>(head.e_phoff));
    Elf64_Phdr segment{};
    for (int i = 0; i < head.e_phnum && file.read(reinterpret_cast<char*>(&segment), sizeof segment); ++i) {
        if (segment.p_type == PT_LOAD) wanted = std::max<std::uintmax_t>(wanted, segment.p_offset + segment.p_filesz);
    }
    if (failed || size >= wanted) return;
    throw Error{Errc::plugin, path.string() + ": has " + std::to_string(size) + " bytes, of at least " + std::to_string(wanted) +
                                  " that its header names; it may be damaged: build or copy it again"};
}

abi::Entry load_plugin(const std::filesystem::path& path, const PluginDemands& demands) {
    static std::mutex mutex;
    static auto& kept = *new std::vector<boost::dll::shared_library>;  // never destroyed, so never unloaded
    static std::string loaded_libtorch;
    const std::lock_guard lock{mutex};
    const auto refuse = [&](const std::string& what) { throw Error{Errc::plugin, path.string() + ": " + what}; };

    std::array<char, 4> head{};
    std::ifstream file{path, std::ios::binary};
    if (!file) refuse("cannot be read; expected a trainer plugin");
    if (!file.read(head.data(), head.size()) || std::string_view{head.data(), 4} != "\177ELF")
        refuse("not a shared library; expected a trainer plugin");
    require_whole_library(path);

    boost::dll::shared_library library;
    try {
        library.load(path, boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local);
    } catch (const std::exception& error) {
        refuse(std::string{"cannot be loaded: "} + error.what());
    }
    if (!library.has(abi::symbol)) refuse(std::string{"not a trainer plugin: it does not export "} + abi::symbol);
    const abi::Entry* entry = library.get<const abi::Entry*() noexcept>(abi::symbol)();
    kept.push_back(std::move(library));
    if (!entry || entry->magic != abi::magic) refuse("not a trainer plugin: its entry has a wrong magic number");
    if (entry->abi_version != abi::version) {
        refuse("built for plugin ABI " + std::to_string(entry->abi_version) + "; this program has plugin ABI " +
               std::to_string(abi::version) + ": build the plugin again with this version's headers");
    }
    if (entry->struct_size != sizeof(abi::Entry))
        refuse("its entry has " + std::to_string(entry->struct_size) + " bytes; expected " + std::to_string(sizeof(abi::Entry)));
    const std::string libtorch = entry->libtorch_version;
    const std::string wanted = demands.libtorch_version.value_or(loaded_libtorch);
    if (!libtorch.empty() && !wanted.empty() && libtorch != wanted)
        refuse("built for LibTorch " + libtorch + "; this process has LibTorch " + wanted);
    if (loaded_libtorch.empty()) loaded_libtorch = libtorch;
    return *entry;
}

std::unique_ptr<Trainer> load_trainer(std::string_view name, const PluginFolders& folders, const PluginDemands& demands) {
    const auto path = find_plugin(name, folders);
    const abi::Entry entry = load_plugin(path, demands);
    auto trainer = std::make_unique<PluginTrainer>(entry, std::string{name});
    if (std::string_view{entry.name}.empty()) static_cast<void>(trainer->info());  // info() failed before; now it throws the reason
    if (entry.name != name) {
        throw Error{Errc::plugin, path.string() + ": the trainer calls itself '" + entry.name + "'; expected '" + std::string{name} +
                                      "', as in the file's name"};
    }
    return trainer;
}

}  // namespace hpo
