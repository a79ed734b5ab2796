// SPDX-License-Identifier: MIT
#include "text/stored/tokenizer_settings.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hpo/base/error.hpp"
#include "hpo/base/shown_text.hpp"
#include "hpo/text/json_file.hpp"
#include "hpo/text/stored/model_files.hpp"

namespace hpo::text::detail {

TokenizerSettings::TokenizerSettings(const std::filesystem::path& folder) {
    for (const char* name : {"tokenizer_config.json", "special_tokens_map.json"}) {
        if (const auto file = folder / name; std::filesystem::exists(file)) files_.push_back({file.string(), read_json_file(file)});
    }
}

std::optional<bool> TokenizerSettings::optional_truth(const char* key) const {
    const Found found = find(key);
    if (found.value == nullptr) return std::nullopt;
    if (!found.value->is_boolean()) throw bad_value(found.place, shown_json(*found.value), "true or false");
    return found.value->get<bool>();
}

std::string TokenizerSettings::text(const char* key, const char* otherwise) const {
    const Found found = find(key);
    if (found.value == nullptr) return otherwise;
    const nlohmann::json* value = found.value;
    if (value->is_object() && value->contains("content")) value = &value->at("content");
    if (!value->is_string()) throw bad_value(found.place, shown_json(*found.value), "a text");
    return value->get<std::string>();
}

TokenizerSettings::Found TokenizerSettings::find(const char* key) const {
    for (const auto& [name, document] : files_) {
        const auto value = document.find(key);
        if (value != document.end() && !value->is_null()) return {name + ": " + key, &*value};
    }
    return {};
}

AddedToken read_added_token(const nlohmann::json& fields, const std::string& place) {
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

void require_class(const TokenizerSettings& settings, std::span<const std::string_view> families) {
    const auto found = settings.find("tokenizer_class");
    if (found.value == nullptr) return;
    std::string name = settings.text("tokenizer_class", "");
    if (name.ends_with("Fast")) name.resize(name.size() - 4);
    if (!name.ends_with("Tokenizer")) return;  // a generic class that reads any family's files
    std::string known;
    for (const std::string_view family : families) {
        if (name == std::string{family} + "Tokenizer") return;
        known += (known.empty() ? "" : ", ") + std::string{family} + "Tokenizer";
    }
    if (name != "PreTrainedTokenizer") throw bad_value(found.place, "'" + shown(name) + "'", "one of " + known);
}

}  // namespace hpo::text::detail
