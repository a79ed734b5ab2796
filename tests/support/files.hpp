// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace hpo::test {

/// Empty for a file that is not there, or goes away while it is read (of a process that ends).
[[nodiscard]] inline std::string read_file(const std::filesystem::path& file) {
    std::ifstream in{file, std::ios::binary};
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

inline void write_file(const std::filesystem::path& file, const std::string& bytes) { std::ofstream{file, std::ios::binary} << bytes; }

}  // namespace hpo::test
