// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace hpo::tests {

/// The fields of /proc/PID/stat behind the name: state, parent, ... Empty if there is no such process.
[[nodiscard]] inline std::vector<std::string> fields_of(pid_t pid) {
    std::ifstream stat{"/proc/" + std::to_string(pid) + "/stat"};
    std::string text;
    std::getline(stat, text);
    const auto name_end = text.rfind(')');
    if (name_end == std::string::npos) return {};
    std::istringstream rest{text.substr(name_end + 1)};
    return {std::istream_iterator<std::string>{rest}, {}};
}

/// True if the process is there and no zombie.
[[nodiscard]] inline bool is_alive(pid_t pid) {
    const auto fields = fields_of(pid);
    return !fields.empty() && fields[0] != "Z" && fields[0] != "X";
}

/// True if the process ignores a signal.
[[nodiscard]] inline bool ignores(pid_t pid, int signal) {
    std::ifstream status{"/proc/" + std::to_string(pid) + "/status"};
    for (std::string word, mask; status >> word;) {
        if (word == "SigIgn:" && status >> mask) return (std::stoull(mask, nullptr, 16) >> (signal - 1) & 1U) != 0;
    }
    return false;
}

[[nodiscard]] inline pid_t parent_of(pid_t pid) {
    const auto fields = fields_of(pid);
    return fields.size() < 2 ? 0 : std::stoi(fields[1]);
}

/// The process and all that it has started, as far as their parents live.
[[nodiscard]] inline std::vector<pid_t> family_of(pid_t ancestor) {
    std::vector<pid_t> all{ancestor};
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (const auto& entry : std::filesystem::directory_iterator{"/proc"}) {
            const std::string name = entry.path().filename().string();
            const bool is_process = name.find_first_not_of("0123456789") == std::string::npos;
            if (is_process && parent_of(std::stoi(name)) == all[i]) all.push_back(std::stoi(name));
        }
    }
    return all;
}

}  // namespace hpo::tests
