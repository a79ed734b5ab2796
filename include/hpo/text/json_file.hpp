// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace hpo::text {

/// A file's bytes. Throws Error that names the file if it cannot be read.
[[nodiscard]] std::string read_bytes(const std::filesystem::path& file);

/// A file's text. Throws Error that names the file if it cannot be read or is not UTF-8.
[[nodiscard]] std::string read_text_file(const std::filesystem::path& file);

/// A value for a message: JSON in ASCII, at most about 60 bytes.
[[nodiscard]] std::string shown_json(const nlohmann::json& value);

/// Reads a JSON file, which must be an object. Throws Error that names the file.
[[nodiscard]] nlohmann::json read_json_file(const std::filesystem::path& file);

}  // namespace hpo::text
