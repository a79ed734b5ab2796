// SPDX-License-Identifier: MIT
#include "hpo/text/model_folder.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "hpo/text/json_file.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "support/tiny_encoders.hpp"

using namespace hpo::text;
using Catch::Contains;

namespace {

/// A model folder of the repository that a test spoils.
struct Spoiled {
    hpo::tests::TemporaryDirectory folder;

    explicit Spoiled(const std::string& name) {
        std::filesystem::copy(std::filesystem::path{HPO_SOURCE_DIR "/tests/text/models"} / name, folder.path());
    }
    Spoiled& with(const std::string& name, const std::string& content) {
        std::ofstream{folder.file(name), std::ios::binary} << content;
        return *this;
    }
    Spoiled& without(const std::string& name) {
        std::filesystem::remove(folder.file(name));
        return *this;
    }
    Spoiled& replace(const std::string& name, const std::string& from, const std::string& to) {
        std::string text = read_text_file(folder.file(name));
        const auto at = text.find(from);
        REQUIRE(at != std::string::npos);
        return with(name, text.replace(at, from.size(), to));
    }
    [[nodiscard]] Tokenizer read() const { return read_tokenizer(folder.path()); }
    void is_refused(const std::string& file, const std::string& what) const {
        CHECK_THROWS_WITH(read(), Contains(file) && Contains(what) && !Contains("\n") && !Contains("\x1b"));
    }
};

}  // namespace

TEST_CASE("a folder's special tokens have their ids in the vocabulary") {
    const Tokenizer pieces = Spoiled{"word_piece"}.read();
    CHECK(pieces.token(pieces.special().first) == "[CLS]");
    CHECK(pieces.token(pieces.special().last) == "[SEP]");
    CHECK(pieces.token(pieces.special().pad) == "[PAD]");
    CHECK(pieces.token(pieces.special().unknown) == "[UNK]");
    const Tokenizer pairs = Spoiled{"byte_level_bpe"}.read();
    CHECK(pairs.token(pairs.special().first) == "<s>");
    CHECK(pairs.token(pairs.special().last) == "</s>");
    CHECK(pairs.size() == 800);
    const Tokenizer sentence_pieces = Spoiled{"sentence_piece"}.read();
    CHECK(sentence_pieces.token(sentence_pieces.special().first) == "[CLS]");
    CHECK(sentence_pieces.special().first == 1);
    CHECK(sentence_pieces.special().last == 2);
    CHECK(sentence_pieces.special().pad == 0);
    CHECK(sentence_pieces.special().unknown == 3);
    CHECK(sentence_pieces.token(900) == "[MASK]");
    CHECK(sentence_pieces.size() == 901);
}

TEST_CASE("the mask of a SentencePiece model may stand in the files of a folder that was saved again") {
    Spoiled spoiled{"sentence_piece"};
    spoiled.with("added_tokens.json", R"({"[MASK]": 900})");
    CHECK(spoiled.read().encode("[MASK]") == std::vector<TokenId>{1, 900, 2});
    spoiled.with("added_tokens.json", R"({"[MASK]": 905})")
        .is_refused("added_tokens.json: '[MASK]'", "got 905; expected a token that added_tokens_decoder in tokenizer_config.json has");
    spoiled.with("tokenizer_config.json", R"({"added_tokens_decoder": {"905": {"content": "[MASK]", "special": true}}})");
    CHECK(spoiled.read().encode("[MASK]") == std::vector<TokenId>{1, 905, 2});
}

TEST_CASE("an added_tokens.json tells of nothing that the other files do not, in a folder of any kind") {
    struct Kind {
        const char* folder;
        const char* known;
        const char* unknown;
    };
    for (const auto& [folder, known, unknown] :
         {Kind{"word_piece", R"({"[MASK]": %})", "[X]"}, Kind{"byte_level_bpe", R"({"<mask>": %})", "<x>"},
          Kind{"sentence_piece", R"({"[MASK]": %})", "[X]"}}) {
        CAPTURE(folder);
        Spoiled spoiled{folder};
        const Tokenizer tokenizer = spoiled.read();
        const std::string name = std::string{known}.substr(2, 6);
        const TokenId mask = tokenizer.encode(name).at(1);
        REQUIRE(tokenizer.encode(name).size() == 3);
        spoiled.with("added_tokens.json", std::string{known}.replace(std::string{known}.find('%'), 1, std::to_string(mask)));
        CHECK(spoiled.read().encode(name) == tokenizer.encode(name));
        spoiled.with("added_tokens.json", "{\"" + std::string{unknown} + "\": 70}")
            .is_refused("added_tokens.json: '" + std::string{unknown} + "'", "got 70; expected a token that added_tokens_decoder");
    }
}

TEST_CASE("names of a folder's files are shown without control characters") {
    const std::string name = R"(a\nb\u001b[31m)";
    Spoiled{"word_piece"}
        .with("tokenizer_config.json", "{\"cls_token\": \"" + name + "\"}")
        .is_refused("vocab.txt", "cls_token '" + name + "'");
    Spoiled{"word_piece"}.with("tokenizer_config.json", "{\"unk_token\": \"" + name + "\"}").is_refused("vocab.txt", "'" + name + "'");
    Spoiled{"byte_level_bpe"}.with("vocab.json", "{\"" + name + "\": 7}").is_refused("vocab.json: '" + name + "'", "got 7");
    Spoiled{"byte_level_bpe"}.with("merges.txt", "a\x1b[31m b c\n").is_refused("merges.txt:1", R"(got 'a\u001b[31m b c')");
    Spoiled{"byte_level_bpe"}.with("added_tokens.json", "{\"" + name + "\": 7}").is_refused("added_tokens.json: '" + name + "'", "got 7");
}

TEST_CASE("a damaged SentencePiece model, wherever it ends, is refused by file") {
    Spoiled spoiled{"sentence_piece"};
    const std::string whole = read_bytes(spoiled.folder.file("spm.model"));
    for (std::size_t size = 0; size < whole.size(); size += size < 300 ? 1 : 97) {
        CAPTURE(size);
        spoiled.with("spm.model", whole.substr(0, size)).is_refused("spm.model: ", "damaged: ");
    }
    spoiled.with("spm.model", "# a text file that has another purpose\n").is_refused("spm.model: damaged: ", "");
    // A piece is field 1; in it, its text is field 1, its score field 2 and its type field 3.
    const std::string normal = "\x0a\x03\x0a\x01x";
    const std::string unknown = "\x0a\x05\x0a\x01u\x18\x02";
    const std::string settings = "\x1a\x02\x18\x01";
    const auto refused = [&](const std::string& model, const std::string& what) {
        spoiled.with("spm.model", model).is_refused("spm.model: " + what, "");
    };
    refused(normal + settings, "damaged: it has no unknown piece");
    refused(unknown + normal, "damaged: it has no normalizer_spec");
    refused(unknown + unknown, "piece 1: the same text as piece 0");
    refused(unknown + "\x0a\x05\x0a\x01v\x18\x02", "piece 1: unknown, as is piece 0");
    refused("\x0a\x03\x0a\x01\xff", "piece 0: damaged: it is no text in UTF-8");
    refused("\x0a\x05\x0a\x01x\x18\x07", "piece 0: damaged: its type is 7");
    refused("\x0a\x04\x0a\x01x\x18", "piece 0: damaged: it ends inside a field");
    refused(std::string{"\x0a\x08\x0a\x01x\x15\0\0\xc0\x7f", 10}, "piece 0: damaged: its score is no number");
    refused("\x0a\x01\x08\x01", "piece 0: damaged: ");
    refused(unknown + "\x12\x02\x18\x02", "model_type: got bpe; expected unigram, all that is supported");
    refused(unknown + "\x12\x03\x98\x02\x01" + settings, "lacks the piece '<0x00>', which byte_fallback needs");
    refused(unknown + "\x1a\x05\x12\x03" + "abc", "damaged: precompiled_charsmap");
    refused(unknown + normal + settings, "lacks the cls_token '[CLS]'");
}

TEST_CASE("line ends of another system and a missing last one change nothing") {
    const auto expected = Spoiled{"word_piece"}.read().encode("a package for testing");
    Spoiled spoiled{"word_piece"};
    std::string text = read_text_file(spoiled.folder.file("vocab.txt"));
    text.pop_back();
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.replace(at, 1, "\r\n");
    CHECK(spoiled.with("vocab.txt", text).read().encode("a package for testing") == expected);
}

TEST_CASE("tokens that are added to a vocabulary are found in texts") {
    Spoiled spoiled{"word_piece"};
    spoiled.with("config.json", R"({"vocab_size": 901})");
    spoiled.with("tokenizer_config.json", R"({"mask_token": {"content": "[MASK]"}, "added_tokens_decoder": {
        "900": {"content": "[NEW]", "lstrip": true, "special": true, "normalized": true}}})");
    const Tokenizer tokenizer = spoiled.read();
    CHECK(tokenizer.size() == 901);
    CHECK(tokenizer.encode("  [NEW][MASK]") == std::vector<TokenId>{tokenizer.special().first, 900, 4, tokenizer.special().last});
}

TEST_CASE("an XLM-RoBERTa's ids are those of its SentencePiece model with four special tokens before them") {
    constexpr char normal = 1;
    constexpr char unknown = 2;
    constexpr char control = 3;
    using Pieces = std::vector<std::pair<std::string, char>>;
    const Pieces pieces{{"<unk>", unknown},  {"<s>", control},       {"</s>", control},
                        {"\u2581a", normal}, {"\u2581game", normal}, {"s", normal}};
    const hpo::tests::TemporaryDirectory folder;
    std::ofstream{folder.file("config.json")} << R"({"model_type": "xlm-roberta", "vocab_size": 8})";
    hpo::tests::write_sentence_pieces(folder.path("sentencepiece.bpe.model"), pieces);
    const Tokenizer tokenizer = read_tokenizer(folder.path());
    CHECK(tokenizer.size() == 8);
    CHECK(tokenizer.special().pad == 1);
    CHECK(tokenizer.encode("a games zz a") == std::vector<TokenId>{0, 4, 5, 6, 3, 4, 2});
    CHECK(tokenizer.encode("a <mask> a") == std::vector<TokenId>{0, 4, 7, 4, 2});
    std::ofstream{folder.file("tokenizer_config.json")} << R"({"tokenizer_class": "CamembertTokenizer"})";
    CHECK_THROWS_WITH(read_tokenizer(folder.path()), Contains("'CamembertTokenizer'; expected one of XLMRobertaTokenizer"));
    std::filesystem::remove(folder.path("tokenizer_config.json"));
    hpo::tests::write_sentence_pieces(folder.path("sentencepiece.bpe.model"), {pieces.begin() + 1, pieces.end()});
    CHECK_THROWS_WITH(read_tokenizer(folder.path()), Contains("sentencepiece.bpe.model: "));
    hpo::tests::write_sentence_pieces(folder.path("sentencepiece.bpe.model"), {{"<s>", control}, {"</s>", control}, {"<unk>", unknown}});
    CHECK_THROWS_WITH(read_tokenizer(folder.path()), Contains("do not begin with <unk>, <s>, </s>"));
    std::ofstream{folder.file("config.json")} << R"({"model_type": "camembert"})";
    CHECK_THROWS_WITH(read_tokenizer(folder.path()), Contains("(sentencepiece.bpe.model alone is not read)"));
}

TEST_CASE("a generic class of tokenizers is read by its files") {
    for (const char* name : {"DistilBertTokenizerFast", "PreTrainedTokenizerFast", "TokenizersBackend"}) {
        const Tokenizer tokenizer =
            Spoiled{"word_piece"}.with("tokenizer_config.json", R"({"tokenizer_class": ")" + std::string{name} + "\"}").read();
        CHECK(tokenizer.size() == 900);
    }
}

TEST_CASE("files that are missing, empty or no text are named") {
    Spoiled{"word_piece"}.without("config.json").is_refused("config.json", "no such file");
    Spoiled{"word_piece"}.without("vocab.txt").is_refused("hpo-test", "expected vocab.txt (WordPiece), vocab.json and merges.txt");
    Spoiled{"word_piece"}.without("vocab.txt").with("tokenizer.json", "{}").is_refused("hpo-test", "(tokenizer.json alone is not read)");
    Spoiled{"byte_level_bpe"}.without("merges.txt").is_refused("hpo-test", "no tokenizer");
    Spoiled{"sentence_piece"}.without("spm.model").is_refused("hpo-test", "or spm.model (SentencePiece)");
    Spoiled{"word_piece"}.with("vocab.txt", "").is_refused("vocab.txt", "is empty");
    Spoiled{"word_piece"}.with("vocab.txt", "[UNK]\na\xff\n").is_refused("vocab.txt:2", "not UTF-8");
    Spoiled{"byte_level_bpe"}.with("vocab.json", "[1, 2").is_refused("vocab.json", "cut short at byte 5; expected a JSON object");
    Spoiled{"word_piece"}
        .with("config.json", R"({"vocab_size": 9)")
        .is_refused("config.json", "cut short at byte 16; expected a JSON object");
    Spoiled{"word_piece"}
        .with("config.json", R"({"vocab_size"; 900})")
        .is_refused("config.json", "not JSON at byte 14; expected a JSON object");
    Spoiled{"word_piece"}.with("config.json", "").is_refused("config.json", "empty; expected a JSON object");
    Spoiled{"word_piece"}
        .with("config.json", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
        .is_refused("config.json", "a pointer of Git LFS in place of the file");
    for (const auto& [folder, name] : {std::pair{"word_piece", "vocab.txt"}, std::pair{"byte_level_bpe", "merges.txt"},
                                       std::pair{"byte_level_bpe", "vocab.json"}, std::pair{"sentence_piece", "spm.model"}}) {
        Spoiled{folder}
            .with(name, "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
            .is_refused(name, "a pointer of Git LFS in place of the file");
    }
    Spoiled{"byte_level_bpe"}.with("vocab.json", "{}").is_refused("vocab.json", "no tokens");
    Spoiled{"word_piece"}
        .with("tokenizer_config.json", "true")
        .is_refused("tokenizer_config.json", "got a JSON boolean; expected an object");
}

TEST_CASE("vocabularies that do not fit are refused with file and token") {
    Spoiled{"word_piece"}
        .with("config.json", R"({"vocab_size": 899})")
        .is_refused("config.json: vocab_size", "got 899; expected at least the tokenizer's 900");
    for (const char* rows : {"901", "902", "1028", "30522"}) {  // no padding of 900 tokens: no multiple of 4, or too many
        Spoiled{"word_piece"}
            .with("config.json", R"({"vocab_size": )" + std::string{rows} + "}")
            .is_refused("config.json: vocab_size",
                        "got " + std::string{rows} + "; expected the tokenizer's 900 tokens; the folder's vocabulary is cut short");
    }
    CHECK(Spoiled{"word_piece"}.with("config.json", R"({"vocab_size": 960})").read().size() == 900);
    Spoiled{"word_piece"}.with("config.json", R"({"vocab_size": "many"})").is_refused("config.json: vocab_size", "expected a whole number");
    Spoiled{"word_piece"}.with("vocab.txt", "a\nb\n").is_refused("vocab.txt", "lacks the unknown token '[UNK]'");
    Spoiled{"word_piece"}.with("vocab.txt", "[UNK]\nb\n").is_refused("vocab.txt", "lacks the cls_token '[CLS]'");
    Spoiled{"byte_level_bpe"}.replace("vocab.json", "\"#\"", "\"#QZ\"").is_refused("vocab.json", "lacks '#', the symbol of byte 35");
    Spoiled{"byte_level_bpe"}
        .replace("vocab.json", ": 799", ": 798")
        .is_refused("vocab.json", "798 again; expected the ids 0 to 799, each once");
    Spoiled{"byte_level_bpe"}.replace("vocab.json", ": 799", ": 800").is_refused("vocab.json", "got 800; expected the ids");
    Spoiled{"byte_level_bpe"}.replace("vocab.json", ": 799", ": -1").is_refused("vocab.json", "got -1; expected the ids");
    for (const char* cut : {"", "#version: 0.2\n", "\u0120 t\n"})
        Spoiled{"byte_level_bpe"}.with("merges.txt", cut).is_refused("merges.txt", "cut short?");
    {
        Spoiled cut{"byte_level_bpe"};
        std::string merges = read_text_file(cut.folder.file("merges.txt"));
        for (int line = 0; line < 9; ++line) merges.resize(merges.rfind('\n', merges.size() - 2) + 1);
        cut.with("merges.txt", merges).is_refused("merges.txt", "those of 9 more tokens of vocab.json; is it cut short?");
    }
    Spoiled{"byte_level_bpe"}.with("merges.txt", "Q Z\n").is_refused("vocab.json", "lacks 'QZ', which merge 1 ('Q Z') needs");
    Spoiled{"byte_level_bpe"}.with("merges.txt", "#version: 0.2\nab\n").is_refused("merges.txt:2", "got 'ab'; expected two tokens");
    Spoiled{"byte_level_bpe"}.with("merges.txt", "a \n").is_refused("merges.txt:1", "expected two tokens");
    Spoiled{"byte_level_bpe"}.with("merges.txt", "a b c\n").is_refused("merges.txt:1", "expected two tokens");
}

TEST_CASE("settings of the wrong kind are refused with file and field") {
    const auto refused = [](const std::string& settings, const std::string& place, const std::string& what) {
        Spoiled{"word_piece"}.with("tokenizer_config.json", settings).is_refused("tokenizer_config.json: " + place, what);
    };
    Spoiled{"sentence_piece"}
        .with("tokenizer_config.json", R"({"do_lower_case": true})")
        .is_refused("tokenizer_config.json: do_lower_case", "got true; expected false, all that is supported");
    Spoiled{"sentence_piece"}
        .with("tokenizer_config.json", R"({"tokenizer_class": "M2M100Tokenizer"})")
        .is_refused("tokenizer_config.json: tokenizer_class", "got 'M2M100Tokenizer'; expected one of DebertaV2Tokenizer");
    refused(R"({"do_lower_case": "yes"})", "do_lower_case", "expected true or false");
    refused(R"({"strip_accents": 1})", "strip_accents", "expected true or false");
    refused(R"({"tokenizer_class": "BertJapaneseTokenizer"})", "tokenizer_class",
            "got 'BertJapaneseTokenizer'; expected one of BertTokenizer, ");
    refused(R"({"cls_token": 5})", "cls_token", "expected a text");
    refused(R"({"added_tokens_decoder": {"x": {"content": "[X]"}}})", "added_tokens_decoder: x", "a token's id");
    refused(R"({"added_tokens_decoder": {"3": {"content": "[CLS]"}}})", "added_tokens_decoder: 3", "expected id 2 as in the vocabulary");
    refused(R"({"added_tokens_decoder": {"900": {"content": "x", "single_word": true}}})", "added_tokens_decoder: 900", "single_word");
    refused(R"({"added_tokens_decoder": {"900": {"content": "x", "normalized": true}}})", "added_tokens_decoder: 900", "normalized");
    refused(R"({"added_tokens_decoder": {"900": 1}})", "added_tokens_decoder: 900", "an object with content");
}
