// SPDX-License-Identifier: MIT
#include "worker/processor.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <istream>
#include <string>
#include <string_view>

namespace hpo::worker {

std::string processor_text(std::istream& cpuinfo) {
    std::string name;
    std::uint64_t hash = 14695981039346656037U;  // FNV-1a
    bool found = false;
    for (std::string line; std::getline(cpuinfo, line) && !(found && line.empty());) {
        const auto colon = line.find(':');
        if (colon == std::string::npos) continue;
        const std::string_view key = std::string_view{line}.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
        const std::string_view value = std::string_view{line}.substr(std::min(colon + 2, line.size()));
        if (key == "model name" || key == "CPU part") name = value;
        for (const std::string_view counts : {"vendor_id", "cpu family", "model", "flags", "Features", "CPU implementer", "CPU part"}) {
            if (key != counts) continue;
            found = true;
            for (const char each : value) hash = (hash ^ static_cast<unsigned char>(each)) * 1099511628211U;
        }
    }
    return found ? name + " " + std::to_string(hash) : "";
}

std::string processor_text(const Environment& environment) {
    std::ifstream cpuinfo{"/proc/cpuinfo"};
    std::string text = processor_text(cpuinfo);
    for (const char* const name : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY"}) {
        for (const std::string& variable : environment) {
            if (variable.starts_with(std::string{name} + "=")) text += " " + variable;
        }
    }
    return text;
}

}  // namespace hpo::worker
