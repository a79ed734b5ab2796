// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/catch.hpp"
#include "support/command.hpp"
#include "support/files.hpp"

namespace hpo::test {

inline const std::string source = HPO_SOURCE_DIR;
inline const std::string data = "tests/data/optuna/";

/// The tool says how long a store has been silent. The samples were written just now, whenever the sources were.
inline void touch_samples() {
    for (const auto& entry : std::filesystem::directory_iterator{source + "/" + data}) {
        if (entry.path().extension() == ".db")
            std::filesystem::last_write_time(entry.path(), std::filesystem::file_time_type::clock::now());
    }
}

/// Runs hpo-analyze in the source folder, 80 columns wide; a shell takes the arguments apart.
[[nodiscard]] inline CommandResult analyze(const std::string& arguments) {
    touch_samples();
    const Workshop workshop;
    const std::string command = "cd '" + source + "' && COLUMNS=80 exec '" + tool("hpo-analyze") + "' " + arguments;
    return run_command(workshop, {"/bin/sh", "-c", command});
}

/// Compares with tests/tools_analyze/expected/NAME. HPO_UPDATE_EXPECTED=1 writes it anew.
inline void check_expected(const std::string& name, const std::string& text) {
    const std::string path = source + "/tests/tools_analyze/expected/" + name;
    if (std::getenv("HPO_UPDATE_EXPECTED")) {
        std::filesystem::create_directories(source + "/tests/tools_analyze/expected");
        std::ofstream{path, std::ios::binary} << text;
    }
    INFO(name);
    CHECK(text == read_file(path));
}

}  // namespace hpo::test
