// SPDX-License-Identifier: MIT
#include "worker/describe.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "hpo/trainer/json.hpp"
#include "hpo/worker/channel.hpp"
#include "hpo/worker/supervisor/last_line.hpp"
#include "hpo/worker/supervisor/log_file.hpp"

namespace hpo::tools {
namespace {

worker::PluginDescription describe_file(const PluginFile& plugin, std::chrono::milliseconds limit) {
    worker::PluginDescription description{.name = plugin.name, .path = plugin.path.string()};
    const worker::LogFile output{{}};
    worker::SocketPair sockets = worker::SocketPair::make();
    worker::Process process =
        worker::Process::start({.program = std::filesystem::read_symlink("/proc/self/exe"),
                                .arguments = {"--fd", std::to_string(worker::channel_descriptor), "--parent", std::to_string(::getpid()),
                                              "--plugin-dir", plugin.path.parent_path().string(), "--describe", plugin.name},
                                .environment = worker::inherited_environment(),
                                .channel = sockets.theirs.get(),
                                .output = output.descriptor(),
                                .errors = output.descriptor()});
    sockets.theirs = worker::Descriptor{};
    const worker::ProcessOutput heard = worker::read_to_end(process, sockets.ours.get(), limit);
    const worker::LastLine last{heard.text};
    try {
        if (!last.answer.empty()) return read_record<worker::PluginDescription>(last.answer, "description");
        const std::string how = heard.exit ? worker::exit_text(*heard.exit) : "no answer within " + worker::seconds_text(limit);
        std::string words = output.tail(400);
        while (words.ends_with('\n')) words.pop_back();
        std::replace(words.begin(), words.end(), '\n', ' ');
        description.error = description.path + ": " + how + ", " + last.step + (words.empty() ? "" : "; it printed: " + words);
    } catch (const Error& error) {
        description.error = description.path + ": " + error.what();
    }
    return description;
}

}  // namespace

void describe_here(const std::string& name, const PluginFolders& folders, int descriptor) {
    worker::Channel channel{worker::Descriptor{descriptor}};
    worker::PluginDescription description{.name = name};
    try {
        const auto path = find_plugin(name, folders);
        description.path = path.string();
        require_whole_library(path);
        // Loaded here first, so that what a library does by itself is told from what its trainer does. A failure is worded below.
        channel.send("while its library was loaded\n");
        static_cast<void>(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
        channel.send("in its trainer's constructor or info()\n");
        description.info = load_trainer(name, folders).release()->info();  // never destroyed: LibTorch's end is not orderly
    } catch (const Error& error) {
        description.error = error.what();
    }
    channel.send(record_line(description) + '\n');
}

std::vector<worker::PluginDescription> describe_apart(const std::string& name, const PluginFolders& folders,
                                                      std::chrono::milliseconds limit) {
    std::vector<worker::PluginDescription> descriptions;
    try {
        if (!name.empty()) return {describe_file({name, find_plugin(name, folders)}, limit)};
    } catch (const Error& error) {
        return {{.name = name, .error = error.what()}};
    }
    for (const PluginFile& plugin : available_plugins(folders)) descriptions.push_back(describe_file(plugin, limit));
    return descriptions;
}

}  // namespace hpo::tools
