// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace hpo::device {

/// The system's name of a process, such as "python3". The kernel keeps 15 bytes of it. Empty if no process of this id can be seen, for
/// example because it is outside of this container.
[[nodiscard]] inline std::string process_name(std::int64_t pid, const std::filesystem::path& root = "/") {
    std::ifstream file{root / "proc" / std::to_string(pid) / "comm"};
    std::string name;
    std::getline(file, name);
    return name;
}

/// The process that started this one, or 0 if that is not known.
[[nodiscard]] inline std::int64_t parent_process(std::int64_t pid, const std::filesystem::path& root = "/") {
    std::ifstream file{root / "proc" / std::to_string(pid) / "stat"};
    std::string text;
    std::getline(file, text);
    const auto name_end = text.rfind(") ");  // then the state and the parent
    std::int64_t parent = 0;
    if (name_end != std::string::npos && name_end + 4 < text.size()) parent = std::atoll(text.c_str() + name_end + 4);
    return parent;
}

/// Bytes of host memory that a process does not share with others, or 0 if that is not known.
[[nodiscard]] inline std::int64_t own_host_bytes(std::int64_t pid, const std::filesystem::path& root = "/") {
    std::ifstream file{root / "proc" / std::to_string(pid) / "statm"};
    std::int64_t size = 0;
    std::int64_t resident = 0;
    std::int64_t shared = 0;
    static const std::int64_t page_bytes = ::sysconf(_SC_PAGESIZE);
    return file >> size >> resident >> shared ? (resident - shared) * page_bytes : 0;
}

}  // namespace hpo::device
