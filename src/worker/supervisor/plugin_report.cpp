// SPDX-License-Identifier: MIT
#include "hpo/worker/supervisor/plugin_report.hpp"

#include <unistd.h>
#include <algorithm>
#include <string>
#include <utility>

#include "hpo/base/error.hpp"
#include "hpo/trainer/json.hpp"
#include "hpo/worker/supervisor/last_line.hpp"
#include "hpo/worker/supervisor/log_file.hpp"
#include "hpo/worker/supervisor/process.hpp"
#include "hpo/worker/supervisor/process_output.hpp"

namespace hpo::worker {

PluginReport report_on_plugin(const PluginReportRequest& request) {
    const LogFile output{{}};
    SocketPair sockets = SocketPair::make();
    ProcessSpec spec{.program = request.worker_program,
                     .arguments = {"--fd", std::to_string(channel_descriptor), "--parent", std::to_string(::getpid()), "--check-plugin",
                                   request.trainer},
                     .environment = request.environment,
                     .channel = sockets.theirs.get(),
                     .output = output.descriptor(),
                     .errors = output.descriptor()};
    for (const auto& folder : request.plugin_folders) {
        spec.arguments.push_back("--plugin-dir");
        spec.arguments.push_back(folder.string());
    }
    for (const std::string& fixed : request.fixed) spec.arguments.push_back("--fix=" + fixed);
    Process process = Process::start(spec);
    sockets.theirs = Descriptor{};
    const ProcessOutput heard = read_to_end(process, sockets.ours.get(), request.time_limit);
    const LastLine last{heard.text};
    if (!last.answer.empty()) return read_record<PluginReport>(last.answer, "report");
    PluginReport report{.name = request.trainer};
    const std::string how =
        heard.exit ? "the process ended: " + exit_text(*heard.exit) : "no answer within " + seconds_text(request.time_limit);
    std::string words = output.tail(400);
    while (words.ends_with('\n')) words.pop_back();
    std::replace(words.begin(), words.end(), '\n', ' ');
    if (!words.empty()) words.insert(0, "; it printed: ");
    for (const auto& [step, where] :
         {std::pair{load_step, "while its library was loaded"}, std::pair{describe_step, "in its trainer's constructor or info()"}}) {
        if (!last.step.starts_with(step)) continue;
        report.path = last.step.substr(step.size());
        report.error = report.path + ": " + how + ", " + where + words;
        report.status = exit_code(Errc::plugin);
        return report;
    }
    report.problems.push_back({last.step, how + words});
    return report;
}

}  // namespace hpo::worker
