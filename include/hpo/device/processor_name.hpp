// SPDX-License-Identifier: MIT
#pragma once

#include <fstream>
#include <string>

namespace hpo::device {

/// What the system calls this host's processors, "cpu" before it: "cpu AMD EPYC 7B13"; "cpu" where it does not say.
[[nodiscard]] inline std::string processor_name() {
    std::ifstream file{"/proc/cpuinfo"};
    for (std::string line; std::getline(file, line);) {
        const auto colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) return "cpu " + line.substr(colon + 2);
    }
    return "cpu";
}

}  // namespace hpo::device
