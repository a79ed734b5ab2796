// SPDX-License-Identifier: MIT
#include "tune/program/scratch_folder.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "hpo/base/error.hpp"

namespace hpo::tune {

namespace {

constexpr const char* in_place_file = "wrote_in_place";
constexpr const char* not_started_file = "not_started";

bool write_text(const char* file, const std::string& text) {
    std::ofstream out{file};
    out << text;
    out.flush();
    return static_cast<bool>(out);
}

/// A mount namespace of this process. Whoever may not mount needs a user namespace, too, in which he is who he was.
bool own_mounts() {
    const auto user = std::to_string(::getuid());
    const auto group = std::to_string(::getgid());
    const bool may_mount = ::unshare(CLONE_NEWNS) == 0;
    if (!may_mount) {
        if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
        if (!write_text("/proc/self/setgroups", "deny") || !write_text("/proc/self/uid_map", user + " " + user + " 1") ||
            !write_text("/proc/self/gid_map", group + " " + group + " 1"))
            return false;
    }
    return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

bool is_below(const std::filesystem::path& inner, const std::filesystem::path& outer) {
    const auto difference = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
    return difference.first == outer.end();
}

/// Lays an empty folder over the current one.
bool cover_current_folder(const std::filesystem::path& folder) {
    std::error_code failed;
    const std::filesystem::path here = std::filesystem::current_path(failed);
    if (failed || is_below(std::filesystem::weakly_canonical(folder, failed), here)) return false;  // the recordings would be covered, too
    for (const std::string& each : {here.string(), folder.string()}) {
        if (each.find_first_of(",:\\") != std::string::npos) return false;  // these separate a mount's options
    }
    for (const char* const name : {"written", "work"}) std::filesystem::create_directory(folder / name, failed);
    if (failed || !own_mounts()) return false;
    const std::string options =
        "lowerdir=" + here.string() + ",upperdir=" + (folder / "written").string() + ",workdir=" + (folder / "work").string();
    if (::mount("overlay", here.c_str(), "overlay", 0, (options + ",userxattr").c_str()) != 0 &&
        ::mount("overlay", here.c_str(), "overlay", 0, options.c_str()) != 0)
        return false;
    return ::chdir(here.c_str()) == 0;  // what is below it now
}

}  // namespace

std::vector<std::string> words_in_scratch(const std::filesystem::path& folder, const std::vector<std::string>& words) {
    std::vector<std::string> all{std::filesystem::read_symlink("/proc/self/exe").string(), scratch_word, folder.string()};
    all.insert(all.end(), words.begin(), words.end());
    return all;
}

bool wrote_in_place(const std::filesystem::path& folder) { return std::filesystem::exists(folder / in_place_file); }

int become_program(const std::vector<std::string>& words) {
    if (words.size() < 2) return exit_code(Errc::usage);
    const std::filesystem::path folder = words[0];
    if (!cover_current_folder(folder)) std::ofstream{folder / in_place_file};
    std::vector<char*> arguments;
    for (std::size_t i = 1; i < words.size(); ++i) arguments.push_back(const_cast<char*>(words[i].c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    std::ofstream{folder / not_started_file} << std::strerror(errno) << "\n";
    return exit_code(Errc::usage);
}

std::string why_not_started(const std::filesystem::path& folder) {
    std::string why;
    if (std::ifstream file{folder / not_started_file}) std::getline(file, why);
    return why;
}

void tidy_scratch(const std::filesystem::path& folder) {
    std::error_code absent;
    std::filesystem::permissions(folder / "work" / "work", std::filesystem::perms::owner_all, absent);
}

}  // namespace hpo::tune
