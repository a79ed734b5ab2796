// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace hpo::tune {

/// A service of systemd that runs a study.
struct ServiceUnit {
    std::string study;
    std::vector<std::string> command;  ///< the program's absolute path first
    std::filesystem::path folder;      ///< the absolute working folder
    std::vector<std::pair<std::string, std::string>> environment;
    std::string user;  ///< of a service of the system; empty: a service of the user who installs it

    /// "hpo-STUDY.service". Characters that a unit's name cannot have are escaped as systemd does (`\x20`). Throws Error{bad_value} if it
    /// is too long for a file.
    [[nodiscard]] std::string file_name() const;
    /// The whole file.
    [[nodiscard]] std::string text() const;
};

/// A word of ExecStart or Environment, in quotes. systemd would replace `%`, and in a command `$`, too. Throws Error{bad_value} for a
/// control character.
[[nodiscard]] std::string unit_word(const std::string& word, bool in_command);

}  // namespace hpo::tune
