// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/error.hpp"
#include "hpo/text/byte_level_bpe.hpp"
#include "hpo/text/model_files.hpp"
#include "hpo/text/tokenizer.hpp"
#include "hpo/text/word_piece.hpp"

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
        if (!found.value->is_boolean()) throw bad_value(found.place, found.value->dump(), "true or false");
        return found.value->get<bool>();
    }
    /// A text, or an object whose "content" is one (as tokens are written).
    [[nodiscard]] std::string text(const char* key, const char* otherwise) const {
        const Found found = find(key);
        if (found.value == nullptr) return otherwise;
        const nlohmann::json* value = found.value;
        if (value->is_object() && value->contains("content")) value = &value->at("content");
        if (!value->is_string()) throw bad_value(found.place, found.value->dump(), "a text");
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
        throw bad_value(place, fields.dump(), "an object with content");
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

/// The names that special tokens have in a family of models.
struct SpecialNames {
    const char* first;
    const char* last;
    const char* pad;
    const char* unknown;
    const char* mask;
    AddedToken::Absorbs mask_absorbs;
};

/// Frames subwords with the special tokens that a folder's files name, else with those of the family.
template <Subwords S>
[[nodiscard]] Tokenizer frame_subwords(S subwords, const TokenizerSettings& settings, const SpecialNames& names, const std::string& place) {
    const Vocabulary& vocabulary = subwords.vocabulary();
    std::vector<AddedToken> added;
    if (const auto found = settings.find("added_tokens_decoder"); found.value != nullptr) {
        for (const auto& [id, fields] : found.value->items()) {
            const std::string where = found.place + ": " + id;
            AddedToken token = read_added_token(fields, where);
            constexpr std::size_t most_digits = 9;
            if (id.empty() || id.size() > most_digits || id.find_first_not_of("0123456789") != std::string::npos) {
                throw bad_value(where, "'" + id + "'", "a token's id");
            }
            token.id = static_cast<TokenId>(std::stol(id));
            const auto known = vocabulary.find(token.content);
            if (known && *known != token.id)
                throw bad_value(where, "'" + token.content + "'", "id " + std::to_string(*known) + " as in the vocabulary");
            added.push_back(std::move(token));
        }
    }
    const auto id_of = [&](const char* key, const char* otherwise, AddedToken::Absorbs absorbs) -> std::optional<TokenId> {
        const std::string content = settings.text(key, otherwise);
        for (const AddedToken& token : added) {
            if (token.content == content) return token.id;
        }
        const auto id = vocabulary.find(content);
        if (id) added.push_back({.content = content, .id = *id, .absorbs = absorbs});
        return id;
    };
    const auto must_have = [&](const char* key, const char* otherwise) {
        const auto id = id_of(key, otherwise, AddedToken::Absorbs::nothing);
        if (!id) throw Error{Errc::bad_value, place + ": lacks the " + key + " '" + settings.text(key, otherwise) + "'"};
        return *id;
    };
    const SpecialTokens special{.first = must_have("cls_token", names.first),
                                .last = must_have("sep_token", names.last),
                                .pad = must_have("pad_token", names.pad),
                                .unknown = must_have("unk_token", names.unknown)};
    (void)id_of("mask_token", names.mask, names.mask_absorbs);
    return {std::move(subwords), special, std::move(added)};
}

[[nodiscard]] inline Tokenizer read_word_piece(const std::filesystem::path& file, const TokenizerSettings& settings) {
    using Options = BertWordOptions;
    const bool lower = settings.truth("do_lower_case", true);
    const Options words{
        .letter_case = lower ? Options::Case::lower : Options::Case::keep,
        .accents = settings.optional_truth("strip_accents").value_or(lower) ? Options::Accents::strip : Options::Accents::keep,
        .chinese = settings.truth("tokenize_chinese_chars", true) ? Options::Chinese::one_by_one : Options::Chinese::in_words};
    WordPiece::Config config{.words = words, .unknown = settings.text("unk_token", "[UNK]")};
    return frame_subwords(WordPiece{read_vocabulary_lines(file), config, file.string()}, settings,
                          {"[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]", AddedToken::Absorbs::nothing}, file.string());
}

[[nodiscard]] inline Tokenizer read_byte_level_bpe(const std::filesystem::path& folder, const TokenizerSettings& settings) {
    using FirstWord = ByteLevelBpe::FirstWord;
    const std::filesystem::path file = folder / "vocab.json";
    const FirstWord first_word = settings.truth("add_prefix_space", false) ? FirstWord::after_a_space : FirstWord::as_it_is;
    return frame_subwords(
        ByteLevelBpe{vocabulary_of(read_json_file(file), file.string()), read_merges(folder / "merges.txt"), first_word, file.string()},
        settings, {"<s>", "</s>", "<pad>", "<unk>", "<mask>", AddedToken::Absorbs::space_before}, file.string());
}

}  // namespace detail

/// The tokenizer of a model folder as it is distributed: WordPiece from `vocab.txt`, byte-level BPE from `vocab.json` and
/// `merges.txt`, set up by tokenizer_config.json and special_tokens_map.json where they are. Throws Error naming file and field, also
/// when there are more tokens than `vocab_size` in config.json.
[[nodiscard]] inline Tokenizer read_tokenizer(const std::filesystem::path& folder) {
    const auto has = [&](const char* name) { return std::filesystem::exists(folder / name); };
    const std::filesystem::path config_file = folder / "config.json";
    const nlohmann::json config = read_json_file(config_file);
    const detail::TokenizerSettings settings{folder};
    const auto read = [&] {
        if (has("vocab.txt")) return detail::read_word_piece(folder / "vocab.txt", settings);
        if (has("vocab.json") && has("merges.txt")) return detail::read_byte_level_bpe(folder, settings);
        throw Error{Errc::bad_value,
                    folder.string() + ": no tokenizer; expected vocab.txt (WordPiece), or vocab.json and merges.txt (byte-level BPE)"};
    };
    Tokenizer tokenizer = read();
    if (const auto size = config.find("vocab_size"); size != config.end()) {
        if (!size->is_number_unsigned()) throw bad_value(config_file.string() + ": vocab_size", size->dump(), "a whole number");
        if (tokenizer.size() > size->get<std::size_t>()) {
            throw bad_value(config_file.string() + ": vocab_size", size->dump(),
                            "at least the tokenizer's " + std::to_string(tokenizer.size()) + " tokens");
        }
    }
    return tokenizer;
}

}  // namespace hpo::text
