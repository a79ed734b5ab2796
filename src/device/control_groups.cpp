// SPDX-License-Identifier: MIT
#include "hpo/device/control_groups.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace hpo::device {

std::vector<ControlGroup> own_control_groups(const std::filesystem::path& root) {
    std::vector<ControlGroup> groups;
    std::ifstream membership{root / "proc/self/cgroup"};
    for (std::string line; std::getline(membership, line);) {  // "ID:CONTROLLERS:PATH"
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (second != std::string::npos) groups.push_back({line.substr(first + 1, second - first - 1), line.substr(second + 1)});
    }
    return groups;
}

}  // namespace hpo::device
