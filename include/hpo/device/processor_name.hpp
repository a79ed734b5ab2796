// SPDX-License-Identifier: MIT
#pragma once

#include <fstream>
#include <string>

namespace hpo::device {

/// The name of this host's processors after "cpu": "cpu AMD EPYC 7B13". Only "cpu" if the system does not tell the name.
[[nodiscard]] inline std::string processor_name() {
    std::ifstream file{"/proc/cpuinfo"};
    for (std::string line; std::getline(file, line);) {
        const auto colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) return "cpu " + line.substr(colon + 2);
    }
    return "cpu";
}

}  // namespace hpo::device
