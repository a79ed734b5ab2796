// SPDX-License-Identifier: MIT
// hpo-worker: the process that loads a trainer and runs its attempts, one at a time; started by a pool.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "hpo/trainer/json.hpp"
#include "hpo/trainer/prediction_key.hpp"
#include "hpo/worker/child/worker_loop.hpp"
#include "support/installation.hpp"
#include "support/terminal.hpp"
#include "worker/check_plugin.hpp"
#include "worker/describe.hpp"

namespace {

using hpo::PluginFolders;

struct Arguments {
    int descriptor = -1;
    int parent = 0;
    std::string trainer;
    std::vector<std::string> folders;
    std::string described;
    std::string checked;
    std::vector<std::string> fixed;
    double time_limit_seconds = std::chrono::duration<double>(hpo::worker::default_plugin_timeout).count();
};

/// Given folders, then HPO_PLUGIN_PATH, then those beside this program.
PluginFolders search_path(const std::vector<std::string>& given) {
    PluginFolders folders{given.begin(), given.end()};
    if (const char* path = std::getenv("HPO_PLUGIN_PATH")) {
        const std::string_view list{path};
        for (std::size_t begin = 0; begin <= list.size();) {
            const auto end = std::min(list.find(':', begin), list.size());
            if (end > begin) folders.emplace_back(list.substr(begin, end - begin));
            begin = end + 1;
        }
    }
    const std::size_t named = folders.size();
    const auto libraries = hpo::tools::library_folders();
    for (const std::filesystem::path& folder : libraries) {
        if (std::filesystem::exists(folder / "trainers")) folders.push_back(folder / "trainers");
    }
    if (folders.size() == named) folders.push_back(libraries.front() / "trainers");  // so that it is told where trainers should be
    return folders;
}

/// Dies with the supervisor, also when that died before this took effect.
void follow_parent(int parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (parent > 0 && ::getppid() != parent) ::_exit(0);
}

/// What a trainer starts must not keep the socket open after us.
void keep_to_this_process(int descriptor) { ::fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

int describe(const Arguments& arguments) {
    if (arguments.parent > 0) follow_parent(arguments.parent);
    hpo::worker::WorkerDescription description{.version = HPO_VERSION, .plugin_abi = hpo::abi::version};
    const PluginFolders folders = search_path(arguments.folders);
    for (const auto& folder : folders) description.folders.push_back(folder.string());
    if (arguments.descriptor >= 0) {
        keep_to_this_process(arguments.descriptor);
        hpo::tools::describe_here(arguments.described, folders, arguments.descriptor);
        return 0;
    }
    description.plugins = hpo::tools::describe_apart(
        arguments.described, folders,
        std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(arguments.time_limit_seconds)));
    const std::string text = hpo::tools::visible(hpo::encode(description).dump(2, ' ', false, hpo::Json::error_handler_t::replace) + '\n');
    std::fwrite(text.data(), 1, text.size(), stdout);
    const bool refused = !arguments.described.empty() && description.plugins.front().error;
    return refused ? hpo::exit_code(hpo::Errc::plugin) : 0;
}

int check_plugin(const Arguments& arguments) {
    follow_parent(arguments.parent);
    keep_to_this_process(arguments.descriptor);
    hpo::tools::check_plugin_here(arguments.checked, search_path(arguments.folders), arguments.fixed, arguments.descriptor);
    return 0;
}

int serve(const Arguments& arguments) {
    follow_parent(arguments.parent);
    keep_to_this_process(arguments.descriptor);
    // Neither is ever destroyed: an attempt may run until the last moment.
    auto& channel = *new hpo::worker::Channel{hpo::worker::Descriptor{arguments.descriptor}};
    try {
        const PluginFolders folders = search_path(arguments.folders);
        auto& trainer = *hpo::load_trainer(arguments.trainer, folders).release();
        return (new hpo::worker::WorkerLoop{channel, trainer, hpo::FileStamps::stamp(hpo::find_plugin(arguments.trainer, folders))})
            ->serve();
    } catch (const hpo::Error& error) {
        channel.send(hpo::worker::message_line(hpo::worker::Event{hpo::worker::Refused{error.what()}}));
        throw;
    }
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"Runs a trainer's attempts for a supervisor, or describes trainer plugins", "hpo-worker"};
    Arguments arguments;
    auto* const descriptor = app.add_option("--fd", arguments.descriptor, "descriptor of the socket to the supervisor");
    auto* const trainer = app.add_option("--trainer", arguments.trainer, "name of the trainer plugin")->needs(descriptor);
    app.add_option("--parent", arguments.parent, "process id of the supervisor; this process dies with it");
    app.add_option("--plugin-dir", arguments.folders, "folder with plugins, before all others (repeatable)")->allow_extra_args(false);
    auto* const described =
        app.add_option("--describe", arguments.described, "print JSON about one plugin, or about all")->expected(0, 1)->excludes(trainer);
    app.add_option("--time-limit", arguments.time_limit_seconds, "what --describe gives each plugin, in seconds")
        ->check(CLI::Range(0.001, 1e6))
        ->needs(described)
        ->capture_default_str();
    auto* const checked = app.add_option("--check-plugin", arguments.checked, "check that a plugin keeps the contract of trainers")
                              ->needs(descriptor)
                              ->excludes(trainer)
                              ->excludes(described);
    app.add_option("--fix", arguments.fixed, "NAME=VALUE, a parameter of the job that --check-plugin tries (repeatable)")
        ->allow_extra_args(false)
        ->needs(checked);
    app.set_version_flag("--version", HPO_VERSION);

    int status = 0;
    try {
        app.parse(argc, argv);
        if (*described) status = describe(arguments);
        else if (*checked) status = check_plugin(arguments);
        else if (*trainer) status = serve(arguments);
        else throw hpo::Error{hpo::Errc::usage, "command line: nothing to do; expected --describe, or --fd and --trainer"};
    } catch (const CLI::Success& success) {
        return app.exit(success);
    } catch (const CLI::ParseError& error) {
        std::fprintf(stderr, "hpo-worker: error: command line: %s\n", hpo::tools::on_one_line(error.what()).c_str());
        status = hpo::exit_code(hpo::Errc::usage);
    } catch (const hpo::Error& error) {
        std::fprintf(stderr, "hpo-worker: error: %s\n", hpo::tools::on_one_line(error.what()).c_str());
        status = hpo::exit_code(error.code());
    }
    std::fflush(stdout);
    std::fflush(stderr);
    ::_exit(status);
}
