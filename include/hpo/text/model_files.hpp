// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/text/vocabulary.hpp"

namespace hpo::text {

/// A text's lines; the last one needs no line end.
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text);

/// `vocab.txt`: one token a line, its id is the line's number. White space at a line's end is not part of it.
[[nodiscard]] Vocabulary read_vocabulary_lines(const std::filesystem::path& file);

/// A JSON object of tokens and their ids, which must be 0 to n - 1. Throws Error naming the place.
[[nodiscard]] Vocabulary vocabulary_of(const nlohmann::json& object, const std::string& place);

/// `merges.txt`: two tokens a line, the most important first; a first line "#version" is skipped.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> read_merges(const std::filesystem::path& file);

}  // namespace hpo::text

#ifndef HPO_COMPILED
#include "hpo/text/impl/model_files_inl.hpp"
#endif
