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

#include "hpo/text/added_tokens.hpp"

namespace hpo::text {

namespace detail {

/// What the files of a model folder say about its tokens: tokenizer_config.json first, then special_tokens_map.json.
class TokenizerSettings {
public:
    explicit TokenizerSettings(const std::filesystem::path& folder);
    [[nodiscard]] bool truth(const char* key, bool otherwise) const { return optional_truth(key).value_or(otherwise); }
    [[nodiscard]] std::optional<bool> optional_truth(const char* key) const;
    /// A text, or an object whose "content" is one (as tokens are written).
    [[nodiscard]] std::string text(const char* key, const char* otherwise) const;
    struct Found {
        std::string place;
        const nlohmann::json* value = nullptr;  ///< null is as if it were not there
    };
    [[nodiscard]] Found find(const char* key) const;

private:
    std::vector<std::pair<std::string, nlohmann::json>> files_;
};

/// A field of added_tokens_decoder. Throws Error when a token asks for what is not done here.
[[nodiscard]] AddedToken read_added_token(const nlohmann::json& fields, const std::string& place);

/// Others, such as the Japanese BERT's, split words in their own way before they use the same kind of vocabulary.
void require_class(const TokenizerSettings& settings, std::span<const std::string_view> families);

}  // namespace detail

}  // namespace hpo::text

#ifndef HPO_COMPILED
#include "hpo/text/impl/tokenizer_settings_inl.hpp"
#endif
