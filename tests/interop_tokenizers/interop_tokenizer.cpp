// SPDX-License-Identifier: MIT
//
// What this library makes of texts, for interop.py: one line of standard output for each text of standard input, which is its length
// (4 bytes, little-endian) and its bytes.
//   interop_tokenizer ids FOLDER [MAX_LENGTH]
//   interop_tokenizer bert_words CASE ACCENTS CHINESE   each 0 or 1; the words in hexadecimal
//   interop_tokenizer byte_level_words
//   interop_tokenizer copy_weights FROM TO              reads no texts: writes what it read of a file again
#include <array>
#include <cstdint>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/text/model_folder.hpp"
#include "hpo/weights/weights.hpp"
#include "text/pieces/bert_words.hpp"
#include "text/pieces/byte_level_words.hpp"
#include "weights/write_safetensors.hpp"

namespace {

using namespace hpo::text;

std::optional<std::string> next_text() {
    std::array<unsigned char, 4> length{};
    if (!std::cin.read(reinterpret_cast<char*>(length.data()), length.size())) return std::nullopt;
    std::string text(length[0] | std::size_t{length[1]} << 8U | std::size_t{length[2]} << 16U | std::size_t{length[3]} << 24U, '\0');
    if (!std::cin.read(text.data(), static_cast<std::streamsize>(text.size()))) return std::nullopt;
    return text;
}

std::string hexadecimal(std::string_view word) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const char c : word) {
        const auto byte = static_cast<unsigned char>(c);
        text += {digits[byte >> 4U], digits[byte & 15U]};
    }
    return text;
}

std::function<std::string(std::string_view)> command(const std::vector<std::string>& words) {
    const auto collect = [](std::string& line) {
        return [&line](std::string_view word) {
            line += hexadecimal(word) + " ";
            return true;
        };
    };
    if (words.at(1) == "byte_level_words") {
        return [collect](std::string_view text) {
            std::string line;
            split_byte_level(text, collect(line));
            return line;
        };
    }
    if (words.at(1) == "bert_words") {
        using Options = BertWordOptions;
        const BertWords bert{{.letter_case = static_cast<Options::Case>(words.at(2) == "1"),
                              .accents = static_cast<Options::Accents>(words.at(3) == "1"),
                              .chinese = static_cast<Options::Chinese>(words.at(4) == "1")}};
        return [bert, collect](std::string_view text) {
            std::string line;
            bert.split(text, collect(line));
            return line;
        };
    }
    const std::size_t most = words.size() > 3 ? std::stoul(words[3]) : Tokenizer::unlimited;
    return [tokenizer = read_tokenizer(words.at(2)), most](std::string_view text) {
        std::string line;
        for (const TokenId id : tokenizer.encode(text, most)) line += std::to_string(id) + " ";
        return line;
    };
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const std::vector<std::string> words{argv, argv + argc};
        if (words.at(1) == "copy_weights") {
            const auto weights = hpo::weights::Weights::open(words.at(2));
            hpo::weights::write_safetensors(words.at(3), weights.tensors(), weights.metadata());
            return 0;
        }
        const auto answer = command(words);
        while (const auto text = next_text()) std::cout << answer(*text) << '\n';
    } catch (const std::exception& error) {
        std::cerr << "interop_tokenizer: " << error.what() << '\n';
        return 1;
    }
}
