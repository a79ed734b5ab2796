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

#include "hpo/core/error.hpp"
#include "hpo/core/shown_text.hpp"
#include "hpo/text/added_tokens.hpp"
#include "hpo/text/model_files.hpp"

namespace hpo::text {

namespace detail {

/// What the files of a model folder say about its tokens: tokenizer_config.json first, then special_tokens_map.json.
class TokenizerSettings {
public:
    explicit TokenizerSettings(const std::filesystem::path& folder) {
        for (const char* name : {"tokenizer_config.json", "special_tokens_map.json"}) {
            if (const auto file = folder / name; std::filesystem::exists(file)) files_.push_back({file.string(), read_json_file(file)});
        }
    }
    [[nodiscard]] bool truth(const char* key, bool otherwise) const { return optional_truth(key).value_or(otherwise); }
    [[nodiscard]] std::optional<bool> optional_truth(const char* key) const {
        const Found found = find(key);
        if (found.value == nullptr) return std::nullopt;
        if (!found.value->is_boolean()) throw bad_value(found.place, shown_json(*found.value), "true or false");
        return found.value->get<bool>();
    }
    /// A text, or an object whose "content" is one (as tokens are written).
    [[nodiscard]] std::string text(const char* key, const char* otherwise) const {
        const Found found = find(key);
        if (found.value == nullptr) return otherwise;
        const nlohmann::json* value = found.value;
        if (value->is_object() && value->contains("content")) value = &value->at("content");
        if (!value->is_string()) throw bad_value(found.place, shown_json(*found.value), "a text");
        return value->get<std::string>();
    }
    struct Found {
        std::string place;
        const nlohmann::json* value = nullptr;  ///< null is as if it were not there
    };
    [[nodiscard]] Found find(const char* key) const {
        for (const auto& [name, document] : files_) {
            const auto value = document.find(key);
            if (value != document.end() && !value->is_null()) return {name + ": " + key, &*value};
        }
        return {};
    }

private:
    std::vector<std::pair<std::string, nlohmann::json>> files_;
};

/// A field of added_tokens_decoder. Throws Error when a token asks for what is not done here.
[[nodiscard]] inline AddedToken read_added_token(const nlohmann::json& fields, const std::string& place) {
    if (!fields.is_object() || !fields.contains("content") || !fields["content"].is_string()) {
        throw bad_value(place, shown_json(fields), "an object with content");
    }
    const auto flag = [&](const char* key) {
        const auto found = fields.find(key);
        return found != fields.end() && found->is_boolean() && found->get<bool>();
    };
    if (flag("single_word")) throw bad_value(place, "single_word: true", "false: matching whole words only is not supported");
    if (flag("normalized") && !flag("special")) {
        throw bad_value(place, "normalized: true", "false: only tokens that stand in the text as written are supported");
    }
    using Absorbs = AddedToken::Absorbs;
    const Absorbs absorbs = flag("lstrip") ? (flag("rstrip") ? Absorbs::both : Absorbs::space_before)
                                           : (flag("rstrip") ? Absorbs::space_after : Absorbs::nothing);
    return {.content = fields["content"].get<std::string>(), .absorbs = absorbs};
}

/// Others, such as the Japanese BERT's, split words in their own way before they use the same kind of vocabulary.
inline void require_class(const TokenizerSettings& settings, std::span<const std::string_view> families) {
    const auto found = settings.find("tokenizer_class");
    if (found.value == nullptr) return;
    std::string name = settings.text("tokenizer_class", "");
    if (name.ends_with("Fast")) name.resize(name.size() - 4);
    if (!name.ends_with("Tokenizer")) return;  // a generic reader of files
    std::string known;
    for (const std::string_view family : families) {
        if (name == std::string{family} + "Tokenizer") return;
        known += (known.empty() ? "" : ", ") + std::string{family} + "Tokenizer";
    }
    if (name != "PreTrainedTokenizer") throw bad_value(found.place, "'" + shown(name) + "'", "one of " + known);
}

}  // namespace detail

}  // namespace hpo::text
