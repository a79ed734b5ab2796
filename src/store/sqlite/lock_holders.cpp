// SPDX-License-Identifier: MIT
#include "hpo/store/sqlite/lock_holders.hpp"

#include <sys/stat.h>
#include <unistd.h>
#include <cstdint>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace hpo::store {

std::string lock_holders(const std::string& path) {
    std::set<std::string> inodes;
    for (const char* suffix : {"", "-shm"}) {
        struct stat status {};
        if (stat((path + suffix).c_str(), &status) == 0) inodes.insert(std::to_string(status.st_ino));
    }
    std::set<std::int64_t> pids;
    std::ifstream locks{"/proc/locks"};
    for (std::string line; std::getline(locks, line);) {
        // 1: POSIX  ADVISORY  WRITE 123 fe:00:456789 120 120
        std::istringstream fields{line};
        std::string rank, kind, advice, access, device;
        std::int64_t pid = 0;
        if (!(fields >> rank >> kind >> advice >> access >> pid >> device)) continue;
        if (access == "WRITE" && pid > 0 && pid != getpid() && inodes.contains(device.substr(device.rfind(':') + 1))) pids.insert(pid);
    }
    std::string text;
    for (const std::int64_t pid : pids) {
        std::ifstream file{"/proc/" + std::to_string(pid) + "/comm"};
        std::string name;
        std::getline(file, name);
        text += (text.empty() ? "" : ", ") + ("process " + std::to_string(pid)) + (name.empty() ? "" : " (" + name + ")");
    }
    return text;
}

}  // namespace hpo::store
