// SPDX-License-Identifier: MIT
//
// Whatever bytes a text is, all kinds of tokenizers give ids of their vocabulary; whatever the files of a model folder hold, reading
// them ends with a tokenizer or with an hpo::Error of one line. An input that begins with "=config.json=" is such files: each begins
// with a line that is its name between equals signs.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/base/plain_text.hpp"
#include "hpo/text/model_folder.hpp"
#include "support/temporary_directory.hpp"
#include "text/pieces/bert_words.hpp"
#include "text/pieces/byte_level_words.hpp"

namespace {

using namespace hpo::text;

[[noreturn]] void wrong(const char* what) {
    std::cerr << "tokenizer_fuzz: " << what << '\n';
    std::abort();
}

void ask(const Tokenizer& tokenizer, std::string_view text) {
    const auto ids = tokenizer.encode(text);
    for (const TokenId id : ids) {
        if (id < 0 || static_cast<std::size_t>(id) >= tokenizer.size()) wrong("an id that is in no vocabulary");
    }
    if (ids.front() != tokenizer.special().first || ids.back() != tokenizer.special().last) wrong("ids without their frame");
    const std::size_t most = 2 + text.size() % 20;
    auto beginning = tokenizer.encode(text, most);
    if (beginning.size() != std::min(most, ids.size())) wrong("a text that is cut off wrongly");
    beginning.pop_back();
    if (!std::equal(beginning.begin(), beginning.end(), ids.begin())) wrong("a text that begins otherwise when it is cut off");
}

void split(std::string_view text) {
    std::size_t at = 0;
    split_byte_level(text, [&](std::string_view word) {
        if (word.empty() || word != text.substr(at, word.size())) wrong("byte-level words that are not the text");
        at += word.size();
        return true;
    });
    if (at != text.size()) wrong("byte-level words that lose a part of the text");
    BertWords{}.split(text, [](std::string_view word) {
        if (word.empty() || hpo::find_invalid_utf8(word) != std::string_view::npos) wrong("a word that is empty or no UTF-8");
        return true;
    });
}

void read_files(std::string_view text) {
    static const hpo::tests::TemporaryDirectory folder;
    constexpr std::string_view names[] = {
        "config.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt", "vocab.json", "merges.txt",
        "spm.model",   "added_tokens.json"};
    for (const std::string_view name : names) {
        const std::string title = "=" + std::string{name} + "=\n";
        const std::string file = folder.file(std::string{name});
        std::filesystem::remove(file);
        if (const auto begin = text.find(title); begin != std::string_view::npos) {
            const auto end = text.find("\n=", begin + title.size());
            std::ofstream{file, std::ios::binary}
                << text.substr(begin + title.size(), end == std::string_view::npos ? end : end - begin - title.size());
        }
    }
    try {
        const Tokenizer tokenizer = read_tokenizer(folder.path());
        ask(tokenizer, "a text [MASK] of words");
        ask(tokenizer, text.substr(0, 200));
    } catch (const hpo::Error& error) {
        const std::string_view what = error.what();
        if (!what.starts_with(folder.path().string())) wrong("an error without its place");
        if (!hpo::is_plain_text(what)) wrong("an error is not one line of plain text");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Tokenizer pieces = read_tokenizer(HPO_SOURCE_DIR "/tests/text/models/word_piece");
    static const Tokenizer pairs = read_tokenizer(HPO_SOURCE_DIR "/tests/text/models/byte_level_bpe");
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    static const Tokenizer sentence_pieces = read_tokenizer(HPO_SOURCE_DIR "/tests/text/models/sentence_piece");
    if (text.starts_with("=config.json=")) read_files(text);
    ask(pieces, text);
    ask(pairs, text);
    ask(sentence_pieces, text);
    split(text);
    return 0;
}
