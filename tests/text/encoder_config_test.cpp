// SPDX-License-Identifier: MIT
#include "hpo/text/stored/encoder_config.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hpo/base/error.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

using namespace hpo::text;
using nlohmann::json;

namespace {

json bert() {
    return {{"model_type", "bert"},
            {"vocab_size", 30522},
            {"hidden_size", 768},
            {"num_hidden_layers", 12},
            {"num_attention_heads", 12},
            {"intermediate_size", 3072},
            {"max_position_embeddings", 512},
            {"task_specific", json::object()},
            {"classifier_dropout", nullptr}};
}

json deberta_v3() {
    return {{"model_type", "deberta-v2"},     {"vocab_size", 128100},           {"hidden_size", 768},
            {"num_hidden_layers", 12},        {"num_attention_heads", 12},      {"intermediate_size", 3072},
            {"max_position_embeddings", 512}, {"max_relative_positions", -1},   {"relative_attention", true},
            {"position_buckets", 256},        {"norm_rel_ebd", "layer_norm"},   {"share_att_key", true},
            {"pos_att_type", "p2c|c2p"},      {"position_biased_input", false}, {"type_vocab_size", 0},
            {"layer_norm_eps", 1e-7}};
}

std::string refusal(const json& document) {
    const hpo::tests::TemporaryDirectory folder;
    std::ofstream{folder.path() / "config.json"} << document;
    try {
        static_cast<void>(read_encoder_config(folder.path()));
    } catch (const hpo::Error& error) {
        const std::string text = error.what();
        const std::string place = folder.file("config.json") + ": ";
        REQUIRE(text.starts_with(place));
        return text.substr(place.size());
    }
    return "nothing was refused";
}

EncoderConfig read(const json& document) {
    const hpo::tests::TemporaryDirectory folder;
    std::ofstream{folder.path() / "config.json"} << document;
    return read_encoder_config(folder.path());
}

}  // namespace

TEST_CASE("what a BERT's config.json leaves out has BERT's values") {
    const EncoderConfig config = read(bert());
    CHECK(config.family == EncoderConfig::Family::bert);
    CHECK(config.vocabulary == 30522);
    CHECK(config.hidden == 768);
    CHECK(config.layers == 12);
    CHECK(config.heads == 12);
    CHECK(config.intermediate == 3072);
    CHECK(config.token_types == 2);
    CHECK(config.pad == 0);
    CHECK(config.activation == Activation::gelu);
    CHECK(config.layer_norm_epsilon == 1e-12);
    CHECK(config.hidden_dropout == 0.1);
    CHECK(config.longest() == 512);
}

TEST_CASE("a RoBERTa's positions begin after the one of padding") {
    json document = bert();
    document.update({{"model_type", "roberta"}, {"max_position_embeddings", 514}, {"type_vocab_size", 1}, {"layer_norm_eps", 1e-5}});
    const EncoderConfig config = read(document);
    CHECK(config.family == EncoderConfig::Family::roberta);
    CHECK(config.pad == 1);
    CHECK(config.first_position() == 2);
    CHECK(config.longest() == 512);
    CHECK(config.layer_norm_epsilon == 1e-5);
}

TEST_CASE("a DeBERTa tells distances apart, and the published ways to write its configuration are the same") {
    const EncoderConfig config = read(deberta_v3());
    CHECK(config.family == EncoderConfig::Family::deberta);
    CHECK(config.distances.buckets == 256);
    CHECK(config.distances.farthest == 512);
    CHECK(config.distances.to_one_side() == 256);
    CHECK(config.token_types == 0);
    CHECK(config.longest() == 512);
    CHECK(config.layer_norm_epsilon == 1e-7);
    json saved_again = deberta_v3();
    saved_again["pos_att_type"] = json::array({"p2c", "c2p"});
    saved_again["max_relative_positions"] = 400;
    saved_again.erase("type_vocab_size");
    saved_again.erase("position_buckets");
    CHECK(read(saved_again).token_types == 0);
    CHECK(read(saved_again).distances.to_one_side() == 400);
}

TEST_CASE("variants of DeBERTa other than v3 are refused by field") {
    struct Case {
        const char* key;
        json value;
        std::string refusal;
    };
    const std::vector<Case> cases{
        {"model_type", "deberta", "unknown model_type 'deberta'; did you mean 'roberta'?; known: bert, roberta, xlm-roberta, deberta-v2"},
        {"relative_attention", nullptr, "relative_attention: got nothing; expected true, all that is supported"},
        {"relative_attention", false, "relative_attention: got false; expected true, all that is supported"},
        {"position_biased_input", true, "position_biased_input: got true; expected false, all that is supported"},
        {"share_att_key", false, "share_att_key: got false; expected true, all that is supported"},
        {"norm_rel_ebd", "none", "norm_rel_ebd: got \"none\"; expected \"layer_norm\", all that is supported"},
        {"pos_att_type", "p2c|c2p|p2p", "pos_att_type: got \"p2c|c2p|p2p\"; expected \"p2c|c2p\", all that is supported"},
        {"pos_att_type", json::array({"c2p"}), "pos_att_type: got [\"c2p\"]; expected \"p2c|c2p\", all that is supported"},
        {"conv_kernel_size", 3, "conv_kernel_size: got 3; expected 0, all that is supported"},
        {"embedding_size", 128, "embedding_size: got 128; expected 768, all that is supported"},
        {"attention_head_size", 32, "attention_head_size: got 32; expected 64, all that is supported"},
        {"position_buckets", -2, "position_buckets: got -2; expected a whole number from -1 to 16777216"},
        {"position_buckets", 2, "position_buckets: got 2; expected 4 or more, half of them below the greatest distance, which is 511"},
        {"max_relative_positions", 100,
         "position_buckets: got 256; expected 4 or more, half of them below the greatest distance, which is 99"},
    };
    for (const Case& each : cases) {
        CAPTURE(each.key, each.value.dump());
        json document = deberta_v3();
        document[each.key] = each.value;
        CHECK(refusal(document) == each.refusal);
    }
}

TEST_CASE("fields of the encoder's configuration are read") {
    json document = bert();
    document.update({{"hidden_act", "gelu_new"}, {"hidden_dropout_prob", 0}, {"attention_probs_dropout_prob", 0.25}, {"pad_token_id", 7}});
    const EncoderConfig config = read(document);
    CHECK(config.activation == Activation::gelu_tanh);
    CHECK(config.hidden_dropout == 0);
    CHECK(config.attention_dropout == 0.25);
    CHECK(config.pad == 7);
}

TEST_CASE("a configuration that no encoder here has is refused by file and field") {
    struct Case {
        const char* key;
        json value;
        std::string refusal;
    };
    const std::vector<Case> cases{
        {"model_type", "distilbert", "unknown model_type 'distilbert'; known: bert, roberta, xlm-roberta, deberta-v2"},
        {"model_type", nullptr, "model_type: got nothing; expected one of bert, roberta, xlm-roberta, deberta-v2"},
        {"model_type", 3, "model_type: got 3; expected one of bert, roberta, xlm-roberta, deberta-v2"},
        {"hidden_size", nullptr, "hidden_size: got nothing; expected a whole number from 1 to 16777216"},
        {"hidden_size", "768", "hidden_size: got \"768\"; expected a whole number from 1 to 16777216"},
        {"hidden_size", 0, "hidden_size: got 0; expected a whole number from 1 to 16777216"},
        {"hidden_size", -768, "hidden_size: got -768; expected a whole number from 1 to 16777216"},
        {"hidden_size", 1.5, "hidden_size: got 1.5; expected a whole number from 1 to 16777216"},
        {"hidden_size", 18446744073709551615ULL, "hidden_size: got 18446744073709551615; expected a whole number from 1 to 16777216"},
        {"num_hidden_layers", 100000, "num_hidden_layers: got 100000; expected a whole number from 1 to 1024"},
        {"num_attention_heads", 11, "num_attention_heads: got 11; expected a divisor of hidden_size, which is 768"},
        {"hidden_act", "swish", "unknown hidden_act 'swish'; known: gelu, gelu_new, gelu_pytorch_tanh, relu"},
        {"hidden_dropout_prob", 1, "hidden_dropout_prob: got 1; expected a number from 0 on that is less than 1"},
        {"layer_norm_eps", "small", "layer_norm_eps: got \"small\"; expected a number from 0 on that is less than 1"},
        {"position_embedding_type", "relative_key",
         "position_embedding_type: got \"relative_key\"; expected \"absolute\", all that is supported"},
        {"is_decoder", true, "is_decoder: got true; expected false, all that is supported"},
        {"pad_token_id", 40000, "pad_token_id: got 40000; expected an id below vocab_size, which is 30522"},
        {"max_position_embeddings", 1, "max_position_embeddings: got 1; expected 2 or more, for the tokens around a text"},
    };
    for (const Case& each : cases) {
        CAPTURE(each.key, each.value.dump());
        json document = bert();
        document[each.key] = each.value;
        CHECK(refusal(document) == each.refusal);
    }
}

TEST_CASE("a folder without config.json is refused") {
    const hpo::tests::TemporaryDirectory folder;
    CHECK_THROWS_WITH(read_encoder_config(folder.path()), folder.file("config.json") + ": no such file");
}
