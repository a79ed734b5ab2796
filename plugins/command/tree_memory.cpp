// SPDX-License-Identifier: MIT
#include "tree_memory.hpp"

#include <fcntl.h>
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

namespace command {
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

std::int64_t proportional_bytes(pid_t pid) {
    const std::string rollup = beginning(folder_of(pid) + "/smaps_rollup");
    if (const auto at = rollup.find("\nPss:"); at != std::string::npos) {
        std::int64_t kibibytes = 0;
        if (std::istringstream{rollup.substr(at + 5)} >> kibibytes) return kibibytes * 1024;
    }
    std::int64_t size = 0, resident = 0;
    std::istringstream{beginning(folder_of(pid) + "/statm")} >> size >> resident;
    return resident * ::sysconf(_SC_PAGESIZE);
}

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
    const auto& driver = hpo::worker::supervisor::driver();
    return driver ? hpo::device::card_of("cuda:0", driver->devices(), hpo::worker::card_selection(environment)) : std::nullopt;
}

TreeMemory::TreeMemory(pid_t root, const std::string& device) : root_{root}, host_{hpo::is_cpu(device)} {
    if (!host_) card_ = first_card(hpo::worker::inherited_environment());
}

std::optional<std::int64_t> TreeMemory::now() const {
    std::vector<pid_t> tree = process_tree(root_);
    tree.erase(tree.begin());
    std::optional<std::int64_t> bytes;
    if (host_) {
        for (const pid_t pid : tree) bytes = bytes.value_or(0) + proportional_bytes(pid);
        return bytes.value_or(0) > 0 ? bytes : std::nullopt;
    }
    if (!card_) return std::nullopt;
    for (const auto& process : hpo::worker::supervisor::driver()->occupancy(*card_).processes) {
        if (std::find(tree.begin(), tree.end(), static_cast<pid_t>(process.pid)) != tree.end()) bytes = bytes.value_or(0) + process.bytes;
    }
    return bytes;
}

}  // namespace command
