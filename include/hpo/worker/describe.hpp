// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hpo/trainer/json.hpp"
#include "hpo/worker/environment.hpp"
#include "hpo/worker/process.hpp"

namespace hpo::worker {

/// What `hpo-worker --describe` says about one plugin.
struct PluginDescription {
    std::string name;
    std::string path;
    std::optional<TrainerInfo> info;   ///< LibTorch's version included
    std::optional<std::string> error;  ///< instead of info: why it cannot be used
};

/// All of what `hpo-worker --describe` says.
struct WorkerDescription {
    std::string version;
    std::uint32_t plugin_abi = 0;
    std::vector<std::string> folders;  ///< searched, the first one first
    std::vector<PluginDescription> plugins;
};

/// How a description is asked for.
struct DescriptionRequest {
    std::filesystem::path worker_program;
    std::vector<std::filesystem::path> plugin_folders;
    std::string trainer;  ///< empty: all
    Environment environment = inherited_environment();
};

}  // namespace hpo::worker

namespace hpo {

template <>
struct JsonMembers<worker::PluginDescription> {
    using R = worker::PluginDescription;
    static constexpr std::tuple list{JsonMember{"name", &R::name}, JsonMember{"path", &R::path}, JsonMember{"info", &R::info},
                                     JsonMember{"error", &R::error}};
};
template <>
struct JsonMembers<worker::WorkerDescription> {
    using R = worker::WorkerDescription;
    static constexpr std::tuple list{JsonMember{"version", &R::version}, JsonMember{"plugin_abi", &R::plugin_abi},
                                     JsonMember{"folders", &R::folders}, JsonMember{"plugins", &R::plugins}};
};

}  // namespace hpo

namespace hpo::worker {

/// Asks `hpo-worker --describe`, so that a supervisor never loads a plugin itself. A plugin that cannot be used is an
/// entry with an error, also when it is asked for by name. Throws Error{plugin} when the program says nothing sensible.
[[nodiscard]] inline WorkerDescription describe_plugins(const DescriptionRequest& request) {
    SocketPair sockets = SocketPair::make();
    ProcessSpec spec{
        .program = request.worker_program, .arguments = {"--describe"}, .environment = request.environment, .output = sockets.theirs.get()};
    if (!request.trainer.empty()) spec.arguments.push_back(request.trainer);
    for (const auto& folder : request.plugin_folders) {
        spec.arguments.push_back("--plugin-dir");
        spec.arguments.push_back(folder.string());
    }
    Process process = Process::start(spec);
    sockets.theirs = Descriptor{};
    std::string text;
    char bytes[4096];
    for (ssize_t got = 0; (got = ::read(sockets.ours.get(), bytes, sizeof bytes)) > 0 || (got < 0 && errno == EINTR);) {
        if (got > 0) text.append(bytes, static_cast<std::size_t>(got));
    }
    const ProcessExit exit = process.wait();
    try {
        return decoded<WorkerDescription>(parse_json(text, "description"), "description");
    } catch (const Error& error) {
        throw Error{Errc::plugin, request.worker_program.string() + " --describe: " + exit_text(exit) + ": " + error.what()};
    }
}

}  // namespace hpo::worker
