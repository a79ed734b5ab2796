// SPDX-License-Identifier: MIT
#include "tree_memory.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <sstream>
#include <system_error>

#include "hpo/core/device_word.hpp"
#include "hpo/device/visible_cards.hpp"
#include "hpo/worker/descriptor.hpp"
#include "hpo/worker/supervisor/device_now.hpp"
#include "process_parent.hpp"

namespace hpo::command {
namespace {

std::string folder_of(pid_t pid) { return "/proc/" + std::to_string(pid); }

/// The beginning of a small file, at most 4 KiB. Empty if it cannot be read.
std::string beginning(const std::string& path) {
    const hpo::worker::Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    std::string text(4096, '\0');
    const ssize_t size = file ? ::read(file.get(), text.data(), text.size()) : 0;
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return text;
}

/// Bytes of host memory of one process.
struct HostMemory {
    std::int64_t resident = 0;
    std::int64_t proportional = 0;  ///< a page that n processes have counts as 1/n of it
    std::int64_t own = 0;           ///< what no other process has
    std::int64_t inherited = 0;     ///< what was written to, and other processes have, too: a fork of one of them
};

/// The bytes that a line "Name:   123 kB" of such a file tells.
std::optional<std::int64_t> bytes_in(const std::string& text, const std::string& name) {
    const auto at = text.find("\n" + name + ":");
    std::int64_t kibibytes = 0;
    if (at == std::string::npos || !(std::istringstream{text.substr(at + name.size() + 2)} >> kibibytes)) return std::nullopt;
    return kibibytes * 1024;
}

HostMemory host_memory(pid_t pid) {
    const std::string rollup = beginning(folder_of(pid) + "/smaps_rollup");
    const auto resident = bytes_in(rollup, "Rss"), proportional = bytes_in(rollup, "Pss");
    const auto clean = bytes_in(rollup, "Private_Clean"), dirty = bytes_in(rollup, "Private_Dirty"),
               shared = bytes_in(rollup, "Shared_Dirty");
    if (resident && proportional && clean && dirty && shared) return {*resident, *proportional, *clean + *dirty, *shared};
    std::int64_t size = 0, pages = 0;
    std::istringstream{beginning(folder_of(pid) + "/statm")} >> size >> pages;
    const std::int64_t bytes = pages * ::sysconf(_SC_PAGESIZE);
    return {bytes, bytes, bytes, 0};
}

/// When a process began: the 22nd field of /proc/PID/stat (proc(5)). Empty if it is not there.
std::string start_of(pid_t pid) {
    const std::string stat = beginning(folder_of(pid) + "/stat");
    const auto name = stat.rfind(')');
    if (name == std::string::npos) return {};
    std::istringstream fields{stat.substr(name + 1)};
    std::string field;
    for (int number = 3; number <= 22 && fields >> field; ++number) {
    }
    return fields ? field : std::string{};
}

std::int64_t most_resident(pid_t pid) { return bytes_in(beginning(folder_of(pid) + "/status"), "VmHWM").value_or(0); }

}  // namespace

std::vector<pid_t> process_tree(pid_t root) {
    std::multimap<pid_t, pid_t> children;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator{"/proc", error}) {
        const std::string name = entry.path().filename();
        pid_t pid = 0;
        if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size()) continue;
        children.emplace(parent_in(beginning("/proc/" + name + "/stat")), pid);
    }
    std::vector<pid_t> tree{root};
    for (std::size_t i = 0; i < tree.size(); ++i) {
        const auto [begin, end] = children.equal_range(tree[i]);
        for (auto child = begin; child != end; ++child) tree.push_back(child->second);
    }
    return tree;
}

std::optional<hpo::device::NvidiaDevice> first_card(const hpo::worker::Environment& environment) {
    const auto& driver = hpo::worker::driver();
    return driver ? hpo::device::card_of("cuda:0", driver->devices(), hpo::worker::card_selection(environment)) : std::nullopt;
}

TreeMemory::TreeMemory(pid_t root, const std::string& device, std::optional<pid_t> copy)
    : root_{root}, copy_{copy}, host_{hpo::is_cpu(device)} {
    if (!host_) card_ = first_card(hpo::worker::inherited_environment());
}

std::optional<TreeMemory::Look> TreeMemory::on_host(const std::vector<pid_t>& tree) {
    Look look;
    for (const pid_t pid : tree) {
        const HostMemory memory = host_memory(pid);
        if (!copy_) {
            look.bytes += memory.proportional;
        } else if (pid != *copy_) {
            look.bytes += memory.own;
        } else {
            of_program_ = std::min(of_program_.value_or(memory.inherited), memory.inherited);
            look.bytes += memory.own + memory.inherited - *of_program_;
            look.most = most_resident(pid) - (memory.resident - memory.own - memory.inherited) - *of_program_;
        }
    }
    look.most = std::max(look.most, look.bytes);
    return look.bytes > 0 ? std::optional{look} : std::nullopt;
}

void TreeMemory::kill_seen() const {
    for (const Process& process : seen_) {
        if (!process.start.empty() && start_of(process.pid) == process.start) ::kill(process.pid, SIGKILL);
    }
}

void TreeMemory::remember(const std::vector<pid_t>& tree) {
    // What is not in the tree any more stays, because the tree is empty once its root was killed.
    std::erase_if(seen_, [](const Process& process) { return start_of(process.pid) != process.start; });
    for (const pid_t pid : tree) {
        if (std::ranges::find(seen_, pid, &Process::pid) == seen_.end()) seen_.push_back({pid, start_of(pid)});
    }
}

std::optional<TreeMemory::Look> TreeMemory::now() {
    std::vector<pid_t> tree = process_tree(root_);
    tree.erase(tree.begin());
    if (copy_) remember(tree);
    if (host_) return on_host(tree);
    if (!card_) return std::nullopt;
    std::optional<Look> look;
    for (const auto& process : hpo::worker::driver()->occupancy(*card_).processes) {
        if (std::find(tree.begin(), tree.end(), static_cast<pid_t>(process.pid)) == tree.end()) continue;
        if (!look) look.emplace();
        look->most = look->bytes += process.bytes;
    }
    return look;
}

}  // namespace hpo::command
