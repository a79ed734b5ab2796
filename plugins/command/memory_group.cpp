// SPDX-License-Identifier: MIT
#include "memory_group.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/device/control_groups.hpp"
#include "hpo/worker/supervisor/oom_killer.hpp"

namespace hpo::command {
namespace {

constexpr std::string_view name_prefix = "hpo-";

/// A group that another may be made below.
struct Parent {
    std::filesystem::path folder;
    bool unified = false;
};

/// Writes a word to a file of the kernel. Returns the error's number, or 0.
int write_word(const std::filesystem::path& file, const std::string& word) {
    errno = 0;
    std::ofstream out{file};
    out << word << std::flush;
    return out ? 0 : errno != 0 ? errno : EIO;
}

bool limits_memory_below(const std::filesystem::path& folder) {
    std::ifstream in{folder / "cgroup.subtree_control"};
    for (std::string word; in >> word;) {
        if (word == "memory") return true;
    }
    return false;
}

/// The nearest first. A container may see its own group as the top folder, but the path as the host knows it.
std::vector<Parent> parents(const std::filesystem::path& root) {
    std::vector<Parent> found;
    for (const hpo::device::ControlGroup& group : hpo::device::own_control_groups(root)) {
        const bool unified = group.is_unified();
        if (!unified && group.controllers != "memory") continue;
        const auto top = root / (unified ? "sys/fs/cgroup" : "sys/fs/cgroup/memory");
        for (std::filesystem::path path = group.path.relative_path();; path = path.parent_path()) {
            const auto folder = path.empty() ? top : top / path;
            const bool fits = unified ? limits_memory_below(folder) : std::filesystem::exists(folder / "memory.limit_in_bytes");
            if (fits) found.push_back({folder, unified});
            if (path.empty()) break;
        }
    }
    return found;
}

/// Removes the groups of processes that were killed before they could.
void remove_left_ones(const std::filesystem::path& parent) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator{parent, ignored}) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(name_prefix)) continue;
        char* end = nullptr;
        const long process = std::strtol(name.c_str() + name_prefix.size(), &end, 10);
        if (process > 0 && *end == '-' && ::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH) ::rmdir(entry.path().c_str());
    }
}

}  // namespace

MemoryGroup::MemoryGroup(std::int64_t limit_bytes, const std::filesystem::path& root) {
    static std::atomic<int> count{0};
    std::string why = "no control group above this process can limit memory";
    for (const auto& [folder, unified] : parents(root)) {
        remove_left_ones(folder);
        folder_ = folder / (std::string{name_prefix} + std::to_string(::getpid()) + "-" + std::to_string(count++));
        unified_ = unified;
        std::error_code error;
        std::filesystem::create_directory(folder_, error);
        int failed = error.value();
        if (failed == 0) failed = write_word(folder_ / (unified ? "memory.max" : "memory.limit_in_bytes"), std::to_string(limit_bytes));
        if (failed == 0) {  // kernels that do not count swapped memory lack these files
            static_cast<void>(write_word(folder_ / (unified ? "memory.swap.max" : "memory.memsw.limit_in_bytes"),
                                         unified ? "0" : std::to_string(limit_bytes)));
            return;
        }
        why = folder.string() + ": " + std::strerror(failed);
        ::rmdir(folder_.c_str());
    }
    throw hpo::Error{hpo::Errc::plugin, "a control group with a limit cannot be made: " + why +
                                            "; expected root, a program below systemd's manager of the user, or hard_limit = false"};
}

MemoryGroup::~MemoryGroup() { ::rmdir(folder_.c_str()); }

void MemoryGroup::add(pid_t process) const {
    const int failed = write_word(folder_ / "cgroup.procs", std::to_string(process));
    if (failed == 0 || failed == ESRCH) return;
    throw hpo::Error{hpo::Errc::plugin, folder_.string() + ": a process cannot be moved there: " + std::strerror(failed) +
                                            "; expected a group that this user may move processes to, or hard_limit = false"};
}

bool MemoryGroup::has_killed() const {
    std::ifstream file{folder_ / (unified_ ? "memory.events" : "memory.oom_control")};
    return hpo::worker::oom_kills_in(file).value_or(0) > 0;
}

}  // namespace hpo::command
