// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hpo/trainer/json.hpp"
#include "hpo/worker/environment.hpp"
#include "hpo/worker/hear_out.hpp"
#include "hpo/worker/last_line.hpp"
#include "hpo/worker/log_file.hpp"
#include "hpo/worker/process.hpp"

namespace hpo::worker {

/// What `hpo-worker --check-plugin` says: how a plugin keeps the contract of trainers.
struct PluginReport {
    std::string name;
    std::string path;
    std::optional<TrainerInfo> info;
    Values tried;                          ///< the parameters of the job that it was held against, those that are not standard
    std::vector<TrainerProblem> problems;  ///< what breaks the contract
    std::vector<std::string> remarks;      ///< what the trainer logged while it checked the job
    std::optional<std::string> error;      ///< instead of the rest: why it cannot be used, or what is missing to try it
    int status = 0;                        ///< the exit code that goes with the error
};

/// Which plugin is held against the contract, and how.
struct PluginReportRequest {
    std::filesystem::path worker_program;
    std::vector<std::filesystem::path> plugin_folders;
    std::string trainer;
    std::vector<std::string> fixed;  ///< NAME=VALUE, for the parameters of the job
    std::chrono::milliseconds time_limit{600'000};
    Environment environment = inherited_environment();
};

}  // namespace hpo::worker

namespace hpo {

template <>
struct JsonMembers<worker::PluginReport> {
    using R = worker::PluginReport;
    static constexpr std::tuple list{JsonMember{"name", &R::name},         JsonMember{"path", &R::path},
                                     JsonMember{"info", &R::info},         JsonMember{"tried", &R::tried},
                                     JsonMember{"problems", &R::problems}, JsonMember{"remarks", &R::remarks},
                                     JsonMember{"error", &R::error},       JsonMember{"status", &R::status}};
};

}  // namespace hpo

namespace hpo::worker {

/// Lets a worker hold a plugin against the contract, so that a supervisor never loads one. A plugin that crashes or hangs on the way has a
/// problem that says where.
[[nodiscard]] inline PluginReport report_on_plugin(const PluginReportRequest& request) {
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
    const Heard heard = hear_out(process, sockets.ours.get(), request.time_limit);
    const LastLine last{heard.text};
    if (!last.answer.empty()) return decoded<PluginReport>(parse_json(last.answer, "report"), "report");
    PluginReport report{.name = request.trainer};
    const std::string how =
        heard.exit ? "the process ended: " + exit_text(*heard.exit) : "no answer within " + seconds_text(request.time_limit);
    std::string words = output.tail(400);
    while (words.ends_with('\n')) words.pop_back();
    std::replace(words.begin(), words.end(), '\n', ' ');
    report.problems.push_back({last.step, how + (words.empty() ? "" : "; it printed: " + words)});
    return report;
}

}  // namespace hpo::worker
