// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>

#include "hpo/base/error.hpp"
#include "support/installation.hpp"
#include "tune/commands/commands.hpp"
#include "tune/commands/plugin_templates.hpp"
#include "tune/display/text.hpp"

namespace hpo::tune {
namespace {

/// A project of examples/plugins, with its own name as the word that a new project replaces.
struct Template {
    std::string_view name;
    std::string_view cmake_lists;
    std::string_view source;
    std::string_view script;
};
constexpr Template over_torch{"sine_trainer", sine_trainer_cmake_lists, sine_trainer_source, sine_trainer_script};
constexpr Template plain_trainer{"parabola_trainer", parabola_trainer_cmake_lists, parabola_trainer_source, parabola_trainer_script};

std::string replaced(std::string text, std::string_view word, std::string_view by) {
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size())) text.replace(at, word.size(), by);
    return text;
}

bool is_plugin_name(std::string_view name) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    return !name.empty() && name.size() <= 64 && letter(name.front()) &&
           std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

constexpr std::string_view where_it_is = "WHERE_HPO_IS_INSTALLED";

/// Where the package is that this program belongs to. For a program of a build tree: a word that the reader replaces.
std::string installed_prefix() {
    const auto prefix = tools::installation();
    for (const char* folder : {"lib", HPO_LIBDIR}) {
        if (std::filesystem::exists(prefix / folder / "cmake/hpo/hpoConfig.cmake")) return shell_quoted(prefix.string());
    }
    return std::string{where_it_is};
}

void write_plugin_file(const std::filesystem::path& file, const std::string& text) {
    std::ofstream out{file};
    out << text;
    out.close();
    if (!out) throw Error{Errc::usage, file.string() + ": cannot be written"};
    std::cout << "wrote " << file.string() << "\n";
}

int new_plugin(const std::string& given, bool plain) {
    const std::filesystem::path folder{given};
    const std::string name = folder.filename().string();
    if (!is_plugin_name(name))
        throw bad_value("new-plugin", "'" + given + "'", "a name of letters, digits and '_' that begins with a letter, at most 64");
    if (tools::has_trainer(name))
        throw bad_value("new-plugin", "'" + name + "'",
                        "another name, because a trainer of hpo has this one and a plugin would replace it");
    std::error_code failed;
    if (std::filesystem::exists(std::filesystem::symlink_status(folder, failed)))
        throw Error{Errc::usage, given + ": exists already; give another name, or remove it first"};
    if (!std::filesystem::create_directory(folder, failed))
        throw Error{Errc::usage, given + ": the folder cannot be made: " + failed.message()};
    const Template& from = plain ? plain_trainer : over_torch;
    const std::string prefix = installed_prefix();
    const auto filled = [&](std::string_view text) { return replaced(replaced(std::string{text}, from.name, name), where_it_is, prefix); };
    write_plugin_file(folder / "CMakeLists.txt", filled(from.cmake_lists));
    write_plugin_file(folder / (name + ".cpp"), filled(from.source));
    write_plugin_file(folder / (name + ".lua"), filled(from.script));
    std::cout << "next: cd " << shell_quoted(given) << "\n"
              << "      cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=" << prefix << "\n"
              << "      cmake --build build\n"
              << "      ctest --test-dir build --output-on-failure\n"
              << "      hpo-tune run " << name << ".lua --plugin-dir build/lib/hpo/trainers\n";
    if (prefix == where_it_is)
        std::cout << "note: " << tools::installation().string() << " has no headers of hpo, as a wheel and a build tree have none; for "
                  << where_it_is << ", install hpo from its sources: cmake --install BUILD --prefix PREFIX\n";
    return 0;
}

}  // namespace

void add_new_plugin(tools::CommandLine& line) {
    auto* command = line.add("new-plugin", "Write a project of a trainer plugin that builds, with a study and a test");
    auto name = std::make_shared<std::string>();
    auto plain = std::make_shared<bool>(false);
    command->add_option("NAME", *name, "name of the trainer, or a path to its new folder that ends in the name")->required();
    command->add_flag("--plain", *plain, "a trainer without LibTorch");
    command->footer("Nothing is overwritten. The project needs an installed hpo: cmake --install BUILD --prefix PREFIX.\n" +
                    std::string{exit_codes});
    line.on(command, [name, plain] { return new_plugin(*name, *plain); });
}

}  // namespace hpo::tune
