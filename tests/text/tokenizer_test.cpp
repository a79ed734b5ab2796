// SPDX-License-Identifier: MIT
#include "hpo/text/tokenizer.hpp"

#include <string>
#include <thread>
#include <vector>

#include "hpo/core/seed.hpp"
#include "hpo/text/padding.hpp"
#include "support/catch.hpp"
#include "text/pieces/byte_level_bpe.hpp"
#include "text/pieces/byte_level_words.hpp"
#include "text/pieces/byte_symbols.hpp"
#include "text/pieces/sentence_piece.hpp"
#include "text/pieces/word_piece.hpp"

using namespace hpo::text;

namespace {

using Words = std::vector<std::string>;

Words bert_words(std::string_view text, BertWordOptions options = {}) {
    Words words;
    BertWords{options}.split(text, [&](std::string_view word) {
        words.emplace_back(word);
        return true;
    });
    return words;
}

Words byte_level_words(std::string_view text) {
    Words words;
    split_byte_level(text, [&](std::string_view word) {
        words.emplace_back(word);
        return true;
    });
    return words;
}

const Words small_vocabulary{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "##ab", "##le", "want", "##ed", "!", "u"};

Words pieces_of(std::string_view text, std::size_t longest_word = 100) {
    const WordPiece model{Vocabulary{small_vocabulary}, {.longest_word = longest_word}};
    std::vector<TokenId> ids;
    model.append(text, ids, Tokenizer::unlimited);
    Words found;
    for (const TokenId id : ids) found.push_back(model.vocabulary().token(id));
    return found;
}

/// All bytes, and the results of the merges.
ByteLevelBpe small_bpe(const std::vector<ByteLevelBpe::Merge>& merges, ByteLevelBpe::FirstWord first = ByteLevelBpe::FirstWord::as_it_is) {
    Words tokens;
    for (const char32_t symbol : byte_symbols()) append_utf8(tokens.emplace_back(), symbol);
    for (const auto& [left, right] : merges) tokens.push_back(left + right);
    return {Vocabulary{tokens}, merges, first};
}

Words joined(const ByteLevelBpe& model, std::string_view text) {
    std::vector<TokenId> ids;
    model.append(text, ids, Tokenizer::unlimited);
    Words found;
    for (const TokenId id : ids) found.push_back(model.vocabulary().token(id));
    return found;
}

struct NotSubwords {
    void append(std::string_view, std::vector<TokenId>&) const {}
};
static_assert(!Subwords<NotSubwords>);

}  // namespace

TEST_CASE("a word becomes its longest pieces from the left") {
    CHECK(pieces_of("unaffable wanted!") == Words{"un", "##aff", "##able", "want", "##ed", "!"});
    CHECK(pieces_of("UNABLE") == Words{"un", "##able"});
}

TEST_CASE("a word with a part that is no piece is unknown as a whole") {
    CHECK(pieces_of("unaffabl wanted") == Words{"[UNK]", "want", "##ed"});
}

TEST_CASE("a word longer than the limit is unknown, counted in characters and not in bytes") {
    CHECK(pieces_of("unable", 6) == Words{"un", "##able"});
    CHECK(pieces_of("unable", 5) == Words{"[UNK]"});
    const WordPiece model{Vocabulary{{"[UNK]", "\u00e9", "##\u00e9"}},
                          {.words = {.accents = BertWordOptions::Accents::keep}, .longest_word = 3}};
    std::vector<TokenId> ids;
    model.append("\u00e9\u00e9\u00e9", ids, Tokenizer::unlimited);
    CHECK(ids == std::vector<TokenId>{1, 2, 2});
}

TEST_CASE("BERT's words lose case and accents, and keep them when asked to") {
    CHECK(bert_words("H\u00e9llo, W\u00d6RLD") == Words{"hello", ",", "world"});
    CHECK(bert_words("H\u00e9llo, W\u00d6RLD", {.accents = BertWordOptions::Accents::keep}) == Words{"h\u00e9llo", ",", "w\u00f6rld"});
    CHECK(bert_words("H\u00e9llo", {.letter_case = BertWordOptions::Case::keep, .accents = BertWordOptions::Accents::keep}) ==
          Words{"H\u00e9llo"});
    CHECK(bert_words("a\u0315\u0300", {.accents = BertWordOptions::Accents::keep}) == Words{"a\u0315\u0300"});
    CHECK(bert_words("\u4f60\u597dab", {.chinese = BertWordOptions::Chinese::in_words}) == Words{"\u4f60\u597dab"});
    CHECK(bert_words("\u4f60\u597dab") == Words{"\u4f60", "\u597d", "ab"});
}

TEST_CASE("marks that stay are put into canonical order") {
    // Musical marks are spacing marks (Mc) of classes 216 and 226.
    const std::string flag = "\U0001d16e", stem = "\U0001d165", dot = "\U0001d16d";
    CHECK(bert_words("a" + dot + flag + stem + "b") == Words{"a" + flag + stem + dot + "b"});
}

TEST_CASE("byte-level words keep every byte of the text in order") {
    CHECK(byte_level_words("I'll  go, it's 12\u00bd!\n\n x ") ==
          Words{"I", "'ll", " ", " go", ",", " it", "'s", " 12\u00bd", "!", "\n\n", " x", " "});
    hpo::Rng rng = hpo::Seed{4}.rng();
    for (int i = 0; i < 2000; ++i) {
        std::string text;
        for (auto n = rng.below(40); n > 0; --n) text += static_cast<char>(rng.below(3) == 0 ? rng.below(256) : " a'1s\n"[rng.below(6)]);
        std::string together;
        for (const std::string& word : byte_level_words(text)) {
            CHECK_FALSE(word.empty());
            together += word;
        }
        CHECK(together == text);
    }
}

TEST_CASE("merges apply by rank, then from the left") {
    const auto model = small_bpe({{"b", "c"}, {"a", "b"}, {"a", "bc"}, {"a", "a"}});
    CHECK(joined(model, "abc") == Words{"abc"});
    CHECK(joined(model, "abab") == Words{"ab", "ab"});
    CHECK(joined(model, "aaaaa") == Words{"aa", "aa", "a"});
}

TEST_CASE("merging equals joining the best pair one at a time") {
    const std::vector<ByteLevelBpe::Merge> merges{{"a", "b"}, {"ab", "a"},   {"b", "b"},  {"bb", "a"},
                                                  {"a", "a"}, {"aba", "bb"}, {"aa", "ab"}};
    const auto model = small_bpe(merges);
    hpo::Rng rng = hpo::Seed{5}.rng();
    for (int i = 0; i < 3000; ++i) {
        Words expected;
        std::string word;
        for (auto n = 1 + rng.below(30); n > 0; --n) {
            word += "ab"[rng.below(2)];
            expected.emplace_back(1, word.back());
        }
        for (bool changed = true; changed;) {
            changed = false;
            for (const auto& [left, right] : merges) {
                for (std::size_t at = 0; at + 1 < expected.size() && !changed; ++at) {
                    if (expected[at] != left || expected[at + 1] != right) continue;
                    expected[at] += right;
                    expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(at) + 1);
                    changed = true;
                }
                if (changed) break;
            }
        }
        CHECK(joined(model, word) == expected);
    }
}

TEST_CASE("a space goes to the front of a text that has none") {
    const auto model = small_bpe({{"\u0120", "a"}}, ByteLevelBpe::FirstWord::after_a_space);
    CHECK(joined(model, "a") == Words{"\u0120a"});
    CHECK(joined(model, " a") == Words{"\u0120a"});
    CHECK(joined(model, "").empty());
}

TEST_CASE("bytes that are no UTF-8 give ids, and byte-level ids keep them") {
    const std::string broken = "a\xff\xc3(\xed\xa0\x80\xf4\x90\x80\x80 \xe2\x82";
    CHECK(bert_words(broken) == Words{"a", "("});
    std::string together;
    for (const std::string& word : byte_level_words(broken)) together += word;
    CHECK(together == broken);
    std::vector<TokenId> ids;
    small_bpe({}).append(broken, ids, Tokenizer::unlimited);
    CHECK(ids.size() == broken.size());
    CHECK(ids[1] == 0xff);
}

TEST_CASE("a tokenizer frames a text and finds special tokens in it") {
    const Tokenizer tokenizer{
        WordPiece{Vocabulary{small_vocabulary}, {}}, {.first = 2, .last = 3, .pad = 0, .unknown = 1}, {{"[SEP]", 3}, {"[X]", 40}}};
    CHECK(tokenizer.encode("") == std::vector<TokenId>{2, 3});
    CHECK(tokenizer.encode("u[SEP]u [X]") == std::vector<TokenId>{2, 12, 3, 12, 40, 3});
    CHECK(tokenizer.size() == 41);
    CHECK(tokenizer.token(40) == "[X]");
    CHECK(tokenizer.encode("u u u u", 4) == std::vector<TokenId>{2, 12, 12, 3});
    CHECK(tokenizer.encode("[X][X][X]", 3) == std::vector<TokenId>{2, 40, 3});
    CHECK_THROWS_WITH(tokenizer.encode("u", 1), "max_length: got 1; expected 2 or more, for the tokens around a text");
}

TEST_CASE("of added tokens at one place the longest is found, with the white space that it absorbs") {
    using Absorbs = AddedToken::Absorbs;
    const AddedTokens tokens{{{"<a>", 1}, {"<a>b", 2}, {"<m>", 3, Absorbs::space_before}, {"<r>", 4, Absorbs::both}}};
    const auto find = [&](std::string_view text, std::size_t from) {
        const auto match = tokens.find(text, from);
        return match ? std::vector<std::size_t>{match->begin, match->end, static_cast<std::size_t>(match->id)} : std::vector<std::size_t>{};
    };
    CHECK(find("x <a>bc", 0) == std::vector<std::size_t>{2, 6, 2});
    CHECK(find("x \u00a0<m> ", 0) == std::vector<std::size_t>{1, 7, 3});
    CHECK(find("  <m>", 1) == std::vector<std::size_t>{1, 5, 3});
    CHECK(find("a <r>\n b", 0) == std::vector<std::size_t>{1, 7, 4});
    CHECK(find("<", 0).empty());
}

TEST_CASE("texts of unequal length are padded to the longest") {
    const std::vector<std::vector<TokenId>> texts{{7, 8, 9}, {}, {5}};
    const PaddedIds batch = padded(texts, 1);
    CHECK(batch.rows == 3);
    CHECK(batch.columns == 3);
    CHECK(batch.ids == std::vector<std::int64_t>{7, 8, 9, 1, 1, 1, 5, 1, 1});
    CHECK(batch.mask == std::vector<std::int64_t>{1, 1, 1, 0, 0, 0, 1, 0, 0});
    CHECK(padded({}, 0).ids.empty());
}

TEST_CASE("several threads share a tokenizer") {
    const Tokenizer tokenizer{small_bpe({{"a", "b"}, {"ab", "ab"}, {"\u0120", "ab"}}), {0, 1, 2, 3}, {}};
    std::vector<std::string> texts;
    std::vector<std::vector<TokenId>> expected;
    hpo::Rng rng = hpo::Seed{6}.rng();
    for (int i = 0; i < 300; ++i) {
        std::string& text = texts.emplace_back();
        for (auto n = rng.below(60); n > 0; --n) text += "ab c"[rng.below(4)];
        const Tokenizer fresh{small_bpe({{"a", "b"}, {"ab", "ab"}, {"\u0120", "ab"}}), {0, 1, 2, 3}, {}};
        expected.push_back(fresh.encode(text));
    }
    std::vector<int> wrong(4);
    std::vector<std::thread> threads;
    for (int& count : wrong) {
        threads.emplace_back([&] {
            for (std::size_t i = 0; i < texts.size(); ++i) count += tokenizer.encode(texts[i]) != expected[i];
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == std::vector<int>(4, 0));
}

TEST_CASE("SentencePiece chooses the most probable pieces, and one unknown token for neighbours that are in none") {
    using Kind = SentencePieceModel::Kind;
    SentencePieceModel model{.pieces = {{"<unk>", 0, Kind::unknown},
                                        {"\u2581", -3},
                                        {"\u2581a", -2},
                                        {"b", -2.5},
                                        {"ab", -4},
                                        {"c", -6},
                                        {"bc", -1},
                                        {"a", -3},
                                        {"ca", -1, Kind::unused},
                                        {"<x>", 0, Kind::user_defined}}};
    const auto pieces_of = [&](std::string_view text) {
        const SentencePiece subwords{model};
        std::vector<TokenId> ids;
        subwords.append(text, ids, Tokenizer::unlimited);
        Words found;
        for (const TokenId id : ids) found.push_back(subwords.vocabulary().token(id));
        return found;
    };
    CHECK(pieces_of("abc") == Words{"\u2581a", "bc"});
    CHECK(pieces_of("ab") == Words{"\u2581a", "b"});
    CHECK(pieces_of("bab") == Words{"\u2581", "b", "ab"});
    CHECK(pieces_of("ca") == Words{"\u2581", "c", "a"});
    CHECK(pieces_of("  a \t  a ") == Words{"\u2581a", "\u2581", "<unk>", "\u2581a"});  // this model has no rule for tabs
    CHECK(pieces_of("\u00e9\u4e16z b") == Words{"\u2581", "<unk>", "\u2581", "b"});
    CHECK(pieces_of("\xff"
                    "a") == Words{"\u2581", "<unk>", "a"});
    CHECK(pieces_of("a<x>b") == Words{"\u2581a", "<x>", "b"});
    CHECK(pieces_of("").empty());
    CHECK(pieces_of("   ").empty());

    model.trims_spaces = false;
    CHECK(pieces_of("  a ") == Words{"\u2581", "\u2581", "\u2581a", "\u2581"});
    model.space_in_front = false;
    CHECK(pieces_of("a b") == Words{"a", "\u2581", "b"});
    model.spaces_are_visible = false;
    CHECK(pieces_of("a b") == Words{"a", "<unk>", "b"});

    CHECK_THROWS_WITH((SentencePiece{SentencePieceModel{.pieces = model.pieces, .byte_fallback = true}, "spm.model"}),
                      "spm.model: lacks the piece '<0x00>', which byte_fallback needs");
    model.byte_fallback = true;
    for (int byte = 0; byte < 256; ++byte) {
        constexpr char digits[] = "0123456789ABCDEF";
        model.pieces.push_back({std::string{"<0x"} + digits[byte / 16] + digits[byte % 16] + ">", 0, Kind::byte});
    }
    CHECK(pieces_of("\u00e9b") == Words{"<0xC3>", "<0xA9>", "b"});
}
