// SPDX-License-Identifier: MIT
#include "tune/program/program_run.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>
#include <utility>

#include "hpo/base/error.hpp"
#include "tune/study_run/interrupts.hpp"

extern char** environ;

namespace hpo::tune {

namespace {

std::string text_of(const std::filesystem::path& file) {
    std::ifstream in{file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

/// The variables that the program sees.
std::vector<std::string> environment(const ProgramRun& run, const std::filesystem::path& card) {
    std::map<std::string, std::string> variables;
    for (char** each = environ; *each != nullptr; ++each) {
        const std::string text = *each;
        const auto equals = text.find('=');
        if (equals != std::string::npos) variables[text.substr(0, equals)] = text.substr(equals + 1);
    }
    const auto prepend = [&](const std::string& name, const std::string& value) {
        std::string& present = variables[name];
        present = present.empty() ? value : value + ":" + present;
    };
    std::string name = run.card_name;
    std::ranges::replace(name, ';', ',');
    variables["HPO_VIRTUAL_CARD"] = "name=" + name + ";capability=" + std::to_string(run.capability) +
                                    ";multiprocessors=" + std::to_string(run.multiprocessors) +
                                    ";memory=" + std::to_string(run.card_bytes) + ";context=" + std::to_string(run.context_bytes) +
                                    ";state=" + (run.folder / "state").string() + ";report=" + (run.folder / "report").string();
    variables["HPO_PREDICTION_FOLDER"] = run.folder.string();
    variables["HPO_PREDICTION_STEPS"] = std::to_string(run.steps);
    variables["HPO_PREDICTION_PARENT"] = std::to_string(::getpid());
    variables["HPO_PREDICTING"] = "1";
    // Nobody is told of a run that trains nothing.
    variables["WANDB_MODE"] = "disabled";
    variables["COMET_MODE"] = "DISABLED";
    variables["NEPTUNE_MODE"] = "debug";
    variables["CLEARML_OFFLINE_MODE"] = "1";
    variables["MLFLOW_TRACKING_URI"] = "file://" + (run.folder / "mlflow").string();
    variables["PYTHONUNBUFFERED"] = "1";
    prepend("PYTHONPATH", (card / "python").string());
    prepend("LD_PRELOAD", (card / "libhpo_virtual_card_cuda13.so").string() + ":" + (card / "libhpo_virtual_card_nvml.so").string());
    std::vector<std::string> result;
    for (const auto& [key, value] : variables) result.push_back(key + "=" + value);
    return result;
}

constexpr double seconds_to_write = 20;

pid_t start(const ProgramRun& run, const std::filesystem::path& output) {
    std::vector<std::string> words = run.words;
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::vector<std::string> variables = environment(run, virtual_card_folder());
    std::vector<char*> entries;
    for (std::string& each : variables) entries.push_back(each.data());
    entries.push_back(nullptr);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    pid_t child = 0;
    const int failed = posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), entries.data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (failed != 0) throw Error{Errc::bad_value, run.words[0] + ": cannot be started: " + std::strerror(failed)};
    return child;
}

std::vector<RecordedProcess> recorded_processes(const std::filesystem::path& folder) {
    std::vector<RecordedProcess> found;
    std::error_code gone;  // a program may delete anything
    for (const auto& entry : std::filesystem::directory_iterator{folder, gone}) {
        if (entry.path().extension() != ".json") continue;
        const nlohmann::json told = nlohmann::json::parse(text_of(entry.path()), nullptr, false);
        if (!told.is_object()) continue;
        RecordedProcess process{.snapshot = entry.path()};
        process.snapshot.replace_extension(".pickle");
        process.why = told.value("why", "");
        process.steps = told.value("steps", 0);
        if (told.contains("error") && told["error"].is_string()) process.error = told["error"];
        if (told.contains("error_line") && told["error_line"].is_string()) process.error_line = told["error_line"];
        process.torch = told.value("torch", "");
        process.allocated_bytes = told.value("allocated_bytes", std::int64_t{0});
        process.reserved_bytes = told.value("reserved_bytes", std::int64_t{0});
        found.push_back(std::move(process));
    }
    // The one that ran out of memory, or else the one that took most.
    std::ranges::sort(found, std::ranges::greater{}, [](const RecordedProcess& each) {
        return std::pair{each.error.find("OutOfMemoryError") != std::string::npos, each.reserved_bytes};
    });
    return found;
}

std::vector<std::string> unmodelled_functions(const std::filesystem::path& report) {
    std::vector<std::string> names;
    std::ifstream in{report};
    for (std::string line; std::getline(in, line);) {
        const nlohmann::json told = nlohmann::json::parse(line, nullptr, false);
        if (told.is_object() && told.contains("not_modelled")) names.push_back(told["not_modelled"]);
    }
    std::ranges::sort(names);
    names.erase(std::ranges::unique(names).begin(), names.end());
    return names;
}

}  // namespace

std::filesystem::path virtual_card_folder() {
    std::error_code failed;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failed);
    const std::filesystem::path folder = program.parent_path().parent_path() / "lib" / "hpo" / "virtual_card";
    if (!std::filesystem::exists(folder / "libhpo_virtual_card_cuda13.so"))
        throw Error{Errc::no_device,
                    "no virtual card in " + folder.string() + "; build the targets hpo_virtual_card_cuda13 and hpo_virtual_card_nvml"};
    return folder;
}

ProgramEnd run_on_virtual_card(const ProgramRun& run, const std::function<void(double)>& progress) {
    ProgramEnd end{.output = run.folder / "output.txt"};
    const auto begin = std::chrono::steady_clock::now();
    const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
    watch_interrupts();
    const pid_t child = start(run, end.output);
    int status = 0;
    double told = 0;
    for (;;) {
        const pid_t ended = ::waitpid(child, &status, WNOHANG);
        if (ended == child || (ended < 0 && errno != EINTR)) break;
        if (was_interrupted()) {
            ::kill(-child, SIGKILL);
            ::waitpid(child, &status, 0);
            throw Error{Errc::interrupted, "interrupted; the program was ended"};
        }
        const double over = seconds() - static_cast<double>(run.limit.count());
        if (!end.timed_out && over > 0) {
            end.timed_out = true;
            ::kill(child, SIGTERM);  // what was recorded is written
        }
        if (over > seconds_to_write) ::kill(-child, SIGKILL);
        if (seconds() - told >= 1) progress(told = seconds());
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
    }
    ::kill(-child, SIGKILL);  // what the program started
    end.seconds = seconds();
    end.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (std::filesystem::exists(run.folder / "no_cuda")) end.torch_without_cuda = text_of(run.folder / "no_cuda");
    end.processes = recorded_processes(run.folder);
    end.not_modelled = unmodelled_functions(run.folder / "report");
    return end;
}

}  // namespace hpo::tune
