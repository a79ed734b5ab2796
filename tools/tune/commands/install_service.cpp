// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "hpo/base/error.hpp"
#include "support/text.hpp"
#include "tune/commands/commands.hpp"
#include "tune/commands/supervision.hpp"
#include "tune/service/unit.hpp"
#include "tune/settings/printed_command.hpp"
#include "tune/settings/settings.hpp"
#include "tune/settings/value_checks.hpp"

namespace hpo::tune {
namespace {

struct InstallOptions {
    bool print = false;
    bool system = false;
    bool replace = false;
    Supervision supervision{};
};

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value ? value : "";
}

/// What the service needs of this shell: it starts with a bare environment.
std::vector<std::pair<std::string, std::string>> kept_environment() {
    constexpr std::array names{"HPO_PLUGIN_PATH", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
                               "PYTORCH_CUDA_ALLOC_CONF"};
    std::vector<std::pair<std::string, std::string>> kept;
    for (const char* name : names) {
        if (std::getenv(name)) kept.emplace_back(name, variable(name));
    }
    return kept;
}

/// Where systemd looks for units.
std::filesystem::path unit_folder(bool system) {
    if (system) return "/etc/systemd/system";
    if (const std::string config = variable("XDG_CONFIG_HOME"); !config.empty()) return std::filesystem::path{config} / "systemd/user";
    const std::string home = variable("HOME");
    if (home.empty()) throw Error{Errc::usage, "install-service: HOME is not set; use --print, or --system"};
    return std::filesystem::path{home} / ".config/systemd/user";
}

/// The user who asks for a service of the system, also behind sudo.
std::string user_name() {
    for (const char* name : {"SUDO_USER", "USER", "LOGNAME"}) {
        if (const std::string user = variable(name); !user.empty()) return user;
    }
    return "root";
}

ServiceUnit unit_of(const Settings& settings, const InstallOptions& options) {
    const bool system = options.system;
    ServiceUnit unit{.study = settings.text("study"),
                     .command = {std::filesystem::read_symlink("/proc/self/exe").string()},
                     .folder = std::filesystem::current_path(),
                     .environment = kept_environment(),
                     .user = system ? user_name() : ""};
    // Nobody looks at a bar in a journal.
    const bool draws = settings.text("progress") == "auto" || settings.text("progress") == "bar";
    std::vector<std::string> words =
        run_words(settings, draws ? std::map<std::string, std::string>{{"progress", "plain"}} : std::map<std::string, std::string>{});
    for (const std::string& word : supervision_words(options.supervision)) words.push_back(word);
    unit.command.insert(unit.command.end(), words.begin(), words.end());
    return unit;
}

void write_unit(const std::filesystem::path& file, const std::string& text, bool replace) {
    if (std::ifstream there{file}; there && !replace) {
        std::ostringstream content;
        content << there.rdbuf();
        if (content.str() != text) throw Error{Errc::usage, file.string() + ": exists already and differs; --replace replaces it"};
    }
    std::error_code error;
    std::filesystem::create_directories(file.parent_path(), error);
    std::ofstream out{file};
    out << text;
    out.close();
    if (!out) throw Error{Errc::usage, file.string() + ": cannot be written" + (error ? ": " + error.message() : "")};
}

void say_next(const std::filesystem::path& file, bool system) {
    const std::string name = tools::shell_quoted(file.filename().string());
    const std::string control = system ? "systemctl " : "systemctl --user ";
    std::cout << "wrote " << file.string() << "\n"
              << "start it:   " << control << "daemon-reload && " << control << "enable --now " << name << "\n"
              << "look at it: " << control << "status " << name << "\n"
              << "watch it:   journalctl " << (system ? "-u " : "--user -u ") << name << " -f\n"
              << "stop it:    " << control << "disable --now " << name << "\n";
    if (!system) std::cout << "keep it when you log out: loginctl enable-linger\n";
}

}  // namespace

void add_install_service(tools::CommandLine& line) {
    auto* command = line.add("install-service", "Write a systemd unit that runs a study, and goes on with it after a reboot");
    auto arguments = std::make_shared<StudyArguments>();
    auto options = std::make_shared<InstallOptions>();
    add_study_arguments(command, arguments, words_of_run());
    command->add_flag("--print", options->print, "only print the unit");
    command->add_flag("--system", options->system, "a service of the system, in /etc/systemd/system, that runs as you");
    command->add_flag("--replace", options->replace, "replace a unit that differs");
    add_supervision_options(command, options->supervision);
    command->footer(
        "The options of a study are those of hpo-tune run. The working folder and HPO_PLUGIN_PATH, LD_LIBRARY_PATH,\n"
        "CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER and PYTORCH_CUDA_ALLOC_CONF are kept as they are now.\n" +
        std::string{exit_codes});
    line.on(command, [arguments, options] {
        const Settings settings{*arguments};
        static_cast<void>(settings.policies());  // what is wrong is better said now than in a journal
        for (const auto& value_check : value_checks(settings)) value_check();
        static_cast<void>(restart_settings(options->supervision));
        const ServiceUnit unit = unit_of(settings, *options);
        if (options->print) {
            std::cout << unit.text();
            return 0;
        }
        const std::filesystem::path file = unit_folder(options->system) / unit.file_name();
        write_unit(file, unit.text(), options->replace);
        say_next(file, options->system);
        return 0;
    });
}

}  // namespace hpo::tune
