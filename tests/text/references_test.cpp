// SPDX-License-Identifier: MIT
//
// What PyPI's tokenizers makes of hard texts with two small vocabularies, and its transformers with a small SentencePiece model;
// tests/interop_tokenizers/make_references.py and make_sentence_pieces.py made them.
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hpo/text/model_folder.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

using namespace hpo::text;
using nlohmann::json;

namespace {

const std::filesystem::path folder = HPO_SOURCE_DIR "/tests/text";

json references(const std::string& name) { return json::parse(std::ifstream{folder / name}); }

/// The folder's tokenizer with other settings.
Tokenizer tokenizer_of(const json& way) {
    const hpo::tests::TemporaryDirectory work;
    std::filesystem::copy(folder / "models" / way.at("folder").get<std::string>(), work.path());
    json settings = json::parse(std::ifstream{work.path() / "tokenizer_config.json"});
    settings.update(way.at("settings"));
    std::ofstream{work.path() / "tokenizer_config.json"} << settings;
    return read_tokenizer(work.path());
}

std::vector<TokenId> unfold(const json& stretches) {
    std::vector<TokenId> ids;
    for (const json& stretch : stretches) {
        const auto some = stretch.at(0).get<std::vector<TokenId>>();
        for (auto times = stretch.at(1).get<int>(); times > 0; --times) ids.insert(ids.end(), some.begin(), some.end());
    }
    return ids;
}

}  // namespace

TEST_CASE("hard texts give the reference's ids in every way to set a tokenizer up") {
    const json all = references(GENERATE("references.json", "sentence_piece_references.json"));
    std::map<std::string, std::string> texts;
    for (const json& row : all.at("texts")) {
        std::string& text = texts[row.at(0).get<std::string>()];
        const auto unit = row.at(1).get<std::string>();
        for (auto times = row.at(2).get<int>(); times > 0; --times) text += unit;
    }
    std::size_t compared = 0;
    for (const json& way : all.at("ways")) {
        const Tokenizer tokenizer = tokenizer_of(way);
        for (const auto& [name, stretches] : way.at("ids").items()) {
            CAPTURE(way.at("name").get<std::string>(), name);
            const auto expected = unfold(stretches);
            const auto ids = tokenizer.encode(texts.at(name));
            CHECK(ids.size() == expected.size());
            CHECK((ids == expected));  // in brackets: some have a million ids
            if (ids.size() < 1000) CHECK(ids == expected);
            ++compared;
        }
    }
    CHECK(compared > (all.at("ways").size() > 1 ? 200 : 40));
}

TEST_CASE("cutting a text off gives the beginning of its ids and the last token") {
    const json all = references(GENERATE("references.json", "sentence_piece_references.json"));
    for (const json& way : all.at("ways")) {
        const Tokenizer tokenizer = tokenizer_of(way);
        for (const json& row : all.at("texts")) {
            const auto whole = tokenizer.encode(row.at(1).get<std::string>());
            for (const std::size_t most : {2U, 3U, 8U, 16U}) {
                CAPTURE(way.at("name").get<std::string>(), row.at(0).get<std::string>(), most);
                auto expected = whole;
                if (expected.size() > most) {
                    expected.resize(most);
                    expected.back() = tokenizer.special().last;
                }
                CHECK(tokenizer.encode(row.at(1).get<std::string>(), most) == expected);
            }
        }
    }
}
