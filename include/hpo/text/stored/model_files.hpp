// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/text/pieces/vocabulary.hpp"

namespace hpo::text {

/// A text's lines. The last one needs no line end.
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text);

/// Reads `vocab.txt`. It has one token in a line, whose id is the number of the line, counted from 0. White space at the end of a line is
/// ignored.
[[nodiscard]] Vocabulary read_vocabulary_lines(const std::filesystem::path& file);

/// Reads a JSON object of tokens and their ids, which must be 0 to n - 1. Throws Error that names the place.
[[nodiscard]] Vocabulary vocabulary_of(const nlohmann::json& object, const std::string& place);

/// Reads `merges.txt`. It has two tokens in a line, and the most important merge comes first. A first line "#version" is skipped.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> read_merges(const std::filesystem::path& file);

}  // namespace hpo::text
