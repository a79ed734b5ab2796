// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace hpo::text {

/// A file's bytes. Throws Error naming the file when it cannot be read.
[[nodiscard]] std::string read_bytes(const std::filesystem::path& file);

/// A file's text. Throws Error naming the file when it cannot be read or is not UTF-8.
[[nodiscard]] std::string read_text_file(const std::filesystem::path& file);

/// A value as a message shows it: JSON in ASCII, some 60 bytes at most.
[[nodiscard]] std::string shown_json(const nlohmann::json& value);

/// A JSON file that is an object. Throws Error naming the file.
[[nodiscard]] nlohmann::json read_json_file(const std::filesystem::path& file);

}  // namespace hpo::text

#ifndef HPO_COMPILED
#include "hpo/text/impl/json_file_inl.hpp"
#endif
