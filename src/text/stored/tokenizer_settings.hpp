// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/text/pieces/added_tokens.hpp"

namespace hpo::text::detail {

/// What the files of a model folder say about its tokens. tokenizer_config.json comes before special_tokens_map.json.
class TokenizerSettings {
public:
    explicit TokenizerSettings(const std::filesystem::path& folder);
    [[nodiscard]] bool truth(const char* key, bool otherwise) const { return optional_truth(key).value_or(otherwise); }
    [[nodiscard]] std::optional<bool> optional_truth(const char* key) const;
    /// The text of a field. The field may also be an object with the text as "content", as tokens are written.
    [[nodiscard]] std::string text(const char* key, const char* otherwise) const;
    struct Found {
        std::string place;
        const nlohmann::json* value = nullptr;  ///< null if the field is missing or JSON's null
    };
    [[nodiscard]] Found find(const char* key) const;

private:
    std::vector<std::pair<std::string, nlohmann::json>> files_;
};

/// A token of added_tokens_decoder. Throws Error if it asks for something that hpo does not support.
[[nodiscard]] AddedToken read_added_token(const nlohmann::json& fields, const std::string& place);

/// Throws Error if the tokenizer's class is of no such family. Other tokenizers, such as that of the Japanese BERT, have the same kind of
/// vocabulary but split words in their own way.
void require_class(const TokenizerSettings& settings, std::span<const std::string_view> families);

}  // namespace hpo::text::detail
