// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

#include "support/command.hpp"

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

}  // namespace hpo::test
