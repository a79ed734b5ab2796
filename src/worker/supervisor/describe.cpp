// SPDX-License-Identifier: MIT
#include "hpo/worker/supervisor/describe.hpp"

#include <unistd.h>
#include <chrono>
#include <optional>
#include <string>

#include "hpo/base/error.hpp"
#include "hpo/trainer/json.hpp"

namespace hpo::worker {

WorkerDescription describe_plugins(const DescriptionRequest& request) {
    SocketPair sockets = SocketPair::make();
    ProcessSpec spec{.program = request.worker_program,
                     .arguments = {"--parent", std::to_string(::getpid()), "--time-limit",
                                   number_text(std::chrono::duration<double>(request.plugin_timeout).count()), "--describe"},
                     .environment = request.environment,
                     .output = sockets.theirs.get()};
    if (!request.trainer.empty()) spec.arguments.push_back(request.trainer);
    for (const auto& folder : request.plugin_folders) {
        spec.arguments.push_back("--plugin-dir");
        spec.arguments.push_back(folder.string());
    }
    Process process = Process::start(spec);
    sockets.theirs = Descriptor{};
    const ProcessOutput heard = read_to_end(process, sockets.ours.get(), std::nullopt);  // the program itself limits each plugin's time
    try {
        return read_record<WorkerDescription>(heard.text, "description");
    } catch (const Error& error) {
        throw Error{Errc::plugin, request.worker_program.string() + " --describe: " + exit_text(*heard.exit) + ": " + error.what()};
    }
}

}  // namespace hpo::worker
