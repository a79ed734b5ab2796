// SPDX-License-Identifier: MIT
#include "hpo/text/model_folder.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/base/shown_text.hpp"
#include "hpo/base/utf8.hpp"
#include "hpo/text/json_file.hpp"
#include "hpo/text/stored/model_files.hpp"
#include "text/pieces/byte_level_bpe.hpp"
#include "text/pieces/sentence_piece.hpp"
#include "text/pieces/sentence_piece_model.hpp"
#include "text/pieces/word_piece.hpp"
#include "text/stored/tokenizer_settings.hpp"

namespace hpo::text::detail {

/// The names of the special tokens in a family of models.
struct SpecialNames {
    const char* first;
    const char* last;
    const char* pad;
    const char* unknown;
    const char* mask;
    AddedToken::Absorbs mask_absorbs = AddedToken::Absorbs::nothing;
    bool mask_follows = false;  ///< if no file has the mask's id, it is the id after the last of the vocabulary
};

/// A tokenizer of these subwords. Its special tokens are those that the folder's files name, or else those of the family.
template <Subwords S>
[[nodiscard]] Tokenizer frame_subwords(S subwords, const TokenizerSettings& settings, const SpecialNames& names, const std::string& place) {
    const Vocabulary& vocabulary = subwords.vocabulary();
    std::vector<AddedToken> added;
    if (const auto found = settings.find("added_tokens_decoder"); found.value != nullptr) {
        for (const auto& [id, fields] : found.value->items()) {
            const std::string where = found.place + ": " + shown(id);
            AddedToken token = read_added_token(fields, where);
            constexpr std::size_t most_digits = 9;
            if (id.empty() || id.size() > most_digits || id.find_first_not_of("0123456789") != std::string::npos) {
                throw bad_value(where, "'" + shown(id) + "'", "a token's id");
            }
            token.id = static_cast<TokenId>(std::stol(id));
            const auto known = vocabulary.find(token.content);
            if (known && *known != token.id)
                throw bad_value(where, "'" + shown(token.content) + "'", "id " + std::to_string(*known) + " as in the vocabulary");
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
        if (!id) throw Error{Errc::bad_value, place + ": lacks the " + key + " '" + shown(settings.text(key, otherwise)) + "'"};
        return *id;
    };
    const SpecialTokens special{.first = must_have("cls_token", names.first),
                                .last = must_have("sep_token", names.last),
                                .pad = must_have("pad_token", names.pad),
                                .unknown = must_have("unk_token", names.unknown)};
    if (!id_of("mask_token", names.mask, names.mask_absorbs) && names.mask_follows)
        added.push_back({.content = settings.text("mask_token", names.mask),
                         .id = static_cast<TokenId>(vocabulary.size()),
                         .absorbs = names.mask_absorbs});
    return {std::move(subwords), special, std::move(added)};
}

[[nodiscard]] Tokenizer read_word_piece(const std::filesystem::path& file, const TokenizerSettings& settings) {
    using Options = BertWordOptions;
    static constexpr std::string_view families[] = {"Bert", "DistilBert", "Electra", "MobileBert", "MPNet", "ConvBert", "SqueezeBert"};
    require_class(settings, families);
    const bool lower = settings.truth("do_lower_case", true);
    const Options words{
        .letter_case = lower ? Options::Case::lower : Options::Case::keep,
        .accents = settings.optional_truth("strip_accents").value_or(lower) ? Options::Accents::strip : Options::Accents::keep,
        .chinese = settings.truth("tokenize_chinese_chars", true) ? Options::Chinese::one_by_one : Options::Chinese::in_words};
    WordPiece::Config config{.words = words, .unknown = settings.text("unk_token", "[UNK]")};
    return frame_subwords(WordPiece{read_vocabulary_lines(file), config, file.string()}, settings,
                          {"[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]"}, file.string());
}

/// Throws Error if merges are missing. Each token of several characters must be the result of a merge. Exceptions are special tokens in
/// brackets, and up to 8 tokens that only fill the vocabulary (RoBERTa has three).
void require_merges(const Vocabulary& vocabulary, const std::vector<ByteLevelBpe::Merge>& merges, const std::filesystem::path& file) {
    std::unordered_set<std::string> made;
    for (const auto& [left, right] : merges) made.insert(left + right);
    std::size_t unmade = 0;
    for (std::size_t id = 0; id < vocabulary.size(); ++id) {
        const std::string_view token = vocabulary.token(static_cast<TokenId>(id));
        const bool special = (token.starts_with('<') && token.ends_with('>')) || (token.starts_with('[') && token.ends_with(']'));
        const bool one_character = token.size() <= utf8_length(token, 0);
        if (!special && !one_character && !made.contains(std::string{token})) ++unmade;
    }
    constexpr std::size_t fillers = 8;
    if (unmade <= fillers) return;
    throw bad_value(file.string(), std::to_string(merges.size()) + " merges",
                    "those of " + std::to_string(unmade) + " more tokens of vocab.json; is it cut short?");
}

[[nodiscard]] Tokenizer read_byte_level_bpe(const std::filesystem::path& folder, const TokenizerSettings& settings) {
    using FirstWord = ByteLevelBpe::FirstWord;
    static constexpr std::string_view families[] = {"Roberta", "GPT2", "Longformer", "Bart", "LED"};
    require_class(settings, families);
    const std::filesystem::path file = folder / "vocab.json";
    const FirstWord first_word = settings.truth("add_prefix_space", false) ? FirstWord::after_a_space : FirstWord::as_it_is;
    const std::vector<ByteLevelBpe::Merge> merges = read_merges(folder / "merges.txt");
    ByteLevelBpe pairs{vocabulary_of(read_json_file(file), file.string()), merges, first_word, file.string()};
    require_merges(pairs.vocabulary(), merges, folder / "merges.txt");
    return frame_subwords(std::move(pairs), settings, {"<s>", "</s>", "<pad>", "<unk>", "<mask>", AddedToken::Absorbs::space_before},
                          file.string());
}

/// The tokenizer of an XLM-RoBERTa. Its ids are not those of its SentencePiece model: <s>, <pad>, </s> and <unk> come first. Then come the
/// model's pieces without its own first three.
[[nodiscard]] Tokenizer read_shifted_sentence_piece(const std::filesystem::path& file, const TokenizerSettings& settings) {
    using Piece = SentencePieceModel::Piece;
    using Kind = SentencePieceModel::Kind;
    static constexpr std::string_view families[] = {"XLMRoberta"};
    require_class(settings, families);
    SentencePieceModel model = read_sentence_piece_model(file);
    std::vector<Piece>& pieces = model.pieces;
    const auto begins_with = [&](std::size_t id, std::string_view text) { return id < pieces.size() && pieces[id].text == text; };
    if (!begins_with(0, "<unk>") || !begins_with(1, "<s>") || !begins_with(2, "</s>") || model.unknown != 0)
        throw Error{Errc::bad_value, file.string() + ": its pieces do not begin with <unk>, <s>, </s>, as XLM-RoBERTa's do"};
    pieces.erase(pieces.begin(), pieces.begin() + 3);
    const Piece first[] = {{"<s>", 0, Kind::control}, {"<pad>", 0, Kind::control}, {"</s>", 0, Kind::control}, {"<unk>", 0, Kind::unknown}};
    pieces.insert(pieces.begin(), std::begin(first), std::end(first));
    model.unknown = 3;
    return frame_subwords(SentencePiece{std::move(model), file.string()}, settings,
                          {.first = "<s>",
                           .last = "</s>",
                           .pad = "<pad>",
                           .unknown = "<unk>",
                           .mask = "<mask>",
                           .mask_absorbs = AddedToken::Absorbs::space_before,
                           .mask_follows = true},
                          file.string());
}

/// The tokenizer of a DeBERTa-v3. Its vocabulary has all special tokens except the mask.
[[nodiscard]] Tokenizer read_sentence_piece(const std::filesystem::path& folder, const TokenizerSettings& settings) {
    static constexpr std::string_view families[] = {"DebertaV2"};
    require_class(settings, families);
    for (const char* key : {"do_lower_case", "split_by_punct"}) {
        if (settings.truth(key, false)) throw bad_value(settings.find(key).place, "true", "false, all that is supported");
    }
    const std::filesystem::path file = folder / "spm.model";
    return frame_subwords(SentencePiece{read_sentence_piece_model(file), file.string()}, settings,
                          {.first = "[CLS]", .last = "[SEP]", .pad = "[PAD]", .unknown = "[UNK]", .mask = "[MASK]", .mask_follows = true},
                          file.string());
}

/// Throws Error if added_tokens.json of an older folder has a token that no other file has.
void check_older_tokens(const std::filesystem::path& folder, const Tokenizer& tokenizer) {
    const std::filesystem::path file = folder / "added_tokens.json";
    if (!std::filesystem::exists(file)) return;
    const nlohmann::json added = read_json_file(file);
    for (const auto& [content, id] : added.items()) {
        if (nlohmann::json(tokenizer.encode(content)) == nlohmann::json{tokenizer.special().first, id, tokenizer.special().last}) continue;
        throw bad_value(file.string() + ": '" + shown(content) + "'", shown_json(id),
                        "a token that added_tokens_decoder in tokenizer_config.json has");
    }
}

/// True if an embedding of `rows` may belong to a vocabulary of `tokens`. It has as many rows, or it is padded for fast kernels, as in some
/// published models: to a multiple of 4, and by at most 127 rows or a hundredth.
[[nodiscard]] constexpr bool may_be_padded(std::size_t rows, std::size_t tokens) {
    const std::size_t padding = rows - tokens;
    return padding == 0 || (rows % 4 == 0 && padding <= std::max<std::size_t>(127, rows / 100));
}

}  // namespace hpo::text::detail

namespace hpo::text {

Tokenizer read_tokenizer(const std::filesystem::path& folder) {
    const auto has = [&](const char* name) { return std::filesystem::exists(folder / name); };
    const std::filesystem::path config_file = folder / "config.json";
    const nlohmann::json config = read_json_file(config_file);
    const detail::TokenizerSettings settings{folder};
    const auto read = [&] {
        if (has("vocab.txt")) return detail::read_word_piece(folder / "vocab.txt", settings);
        if (has("vocab.json") && has("merges.txt")) return detail::read_byte_level_bpe(folder, settings);
        if (has("spm.model")) return detail::read_sentence_piece(folder, settings);
        const std::filesystem::path shifted = folder / "sentencepiece.bpe.model";  // other families shift their ids differently
        if (std::filesystem::exists(shifted) && config.contains("model_type") && config.at("model_type") == "xlm-roberta")
            return detail::read_shifted_sentence_piece(shifted, settings);
        std::string others;
        for (const char* name : {"tokenizer.json", "sentencepiece.bpe.model", "spiece.model"}) {
            if (has(name)) others += std::string{" ("} + name + " alone is not read)";
        }
        throw Error{
            Errc::bad_value,
            folder.string() +
                ": no tokenizer; expected vocab.txt (WordPiece), vocab.json and merges.txt (byte-level BPE), or spm.model (SentencePiece)" +
                others};
    };
    Tokenizer tokenizer = read();
    detail::check_older_tokens(folder, tokenizer);
    if (const auto size = config.find("vocab_size"); size != config.end()) {
        if (!size->is_number_unsigned()) throw bad_value(config_file.string() + ": vocab_size", shown_json(*size), "a whole number");
        const auto rows = size->get<std::size_t>();
        const std::string tokens = "the tokenizer's " + std::to_string(tokenizer.size()) + " tokens";
        if (tokenizer.size() > rows) throw bad_value(config_file.string() + ": vocab_size", shown_json(*size), "at least " + tokens);
        if (!detail::may_be_padded(rows, tokenizer.size())) {
            throw bad_value(config_file.string() + ": vocab_size", shown_json(*size),
                            tokens + "; the folder's vocabulary is cut short or another model's");
        }
    }
    return tokenizer;
}

}  // namespace hpo::text
