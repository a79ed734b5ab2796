// SPDX-License-Identifier: MIT
#include "hpo/text/word_counts.hpp"

#include <string>
#include <vector>

#include "hpo/text/model_folder.hpp"
#include "hpo/text/stored/write_model_folder.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

using namespace hpo::text;

namespace {

WordCounts counted() {
    WordCounts counts;
    counts.add("The library reads the archive; the Library writes.");
    counts.add("A café archive");
    return counts;
}

std::vector<std::string> tokens_of(const Tokenizer& tokenizer, const std::string& text) {
    std::vector<std::string> tokens;
    for (const TokenId id : tokenizer.encode(text)) tokens.push_back(tokenizer.token(id));
    return tokens;
}

}  // namespace

TEST_CASE("frequent words are tokens, rare ones become characters, and what was never seen is unknown") {
    const Tokenizer tokenizer = counted().tokenizer(1000);
    using Tokens = std::vector<std::string>;
    CHECK(tokens_of(tokenizer, "The LIBRARY") == Tokens{"[CLS]", "the", "library", "[SEP]"});
    CHECK(tokens_of(tokenizer, "CAFE") == Tokens{"[CLS]", "cafe", "[SEP]"});
    CHECK(tokens_of(tokenizer, "bad") == Tokens{"[CLS]", "b", "##a", "##d", "[SEP]"});
    CHECK(tokens_of(tokenizer, "the $") == Tokens{"[CLS]", "the", "[UNK]", "[SEP]"});
    CHECK(tokenizer.special().pad == 0);
    CHECK(tokenizer.token(0) == "[PAD]");
}

TEST_CASE("a vocabulary has at most the tokens that were asked for: characters in its first half, then the most frequent words") {
    const WordCounts counts = counted();
    for (const std::size_t size : {8U, 16U, 20U, 30U, 50U}) {
        const Tokenizer tokenizer = counts.tokenizer(size);
        CHECK(tokenizer.size() <= size);
        if (size >= 14) CHECK(tokens_of(tokenizer, "the").size() == 3);
    }
    CHECK(counts.tokenizer(8).token(5) == "the");
    CHECK_THROWS_WITH(counts.tokenizer(5), "vocabulary: got 5; expected 6 or more tokens");
}

TEST_CASE("a saved vocabulary reads texts as before, also those that spell out its special tokens") {
    const hpo::tests::TemporaryDirectory folder;
    const Tokenizer tokenizer = counted().tokenizer(100);
    hpo::text::write_word_pieces(tokenizer, folder.path());
    hpo::text::write_text_file(folder.path() / "config.json", "{\"vocab_size\": " + std::to_string(tokenizer.size()) + "}");
    const Tokenizer again = hpo::text::read_tokenizer(folder.path());
    for (const char* text : {"the [MASK] library", "[CLS][SEP]the", "[pad] the [UNK]", "[MASK"}) {
        CAPTURE(text);
        CHECK(tokenizer.encode(text, 50) == again.encode(text, 50));
    }
    CHECK(tokens_of(tokenizer, "the [MASK]") == std::vector<std::string>{"[CLS]", "the", "[MASK]", "[SEP]"});
}

TEST_CASE("the order in which texts are counted changes nothing") {
    WordCounts other;
    other.add("A café archive");
    other.add("The library reads the archive; the Library writes.");
    const Tokenizer a = counted().tokenizer(40);
    const Tokenizer b = other.tokenizer(40);
    REQUIRE(a.size() == b.size());
    for (std::size_t id = 0; id < a.size(); ++id) CHECK(a.token(static_cast<TokenId>(id)) == b.token(static_cast<TokenId>(id)));
}
