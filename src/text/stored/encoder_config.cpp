// SPDX-License-Identifier: MIT
#include "hpo/text/stored/encoder_config.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/base/error.hpp"
#include "hpo/text/json_file.hpp"
#include "text/stored/config_fields.hpp"

namespace hpo::text {

void check_sizes(const EncoderConfig& config, const std::string& place) {
    if (config.hidden % config.heads != 0) {
        throw bad_value(place + ": num_attention_heads", std::to_string(config.heads),
                        "a divisor of hidden_size, which is " + std::to_string(config.hidden));
    }
    if (config.pad >= config.vocabulary) {
        throw bad_value(place + ": pad_token_id", std::to_string(config.pad),
                        "an id below vocab_size, which is " + std::to_string(config.vocabulary));
    }
    const auto& distances = config.distances;
    const bool few = distances.buckets > 0 && (distances.buckets < 4 || distances.farthest <= distances.buckets / 2 + 1);
    if (config.family == EncoderConfig::Family::deberta && (few || distances.to_one_side() < 1)) {
        throw bad_value(place + ": position_buckets", std::to_string(distances.buckets),
                        "4 or more, half of them below the greatest distance, which is " + std::to_string(distances.farthest - 1));
    }
    if (config.longest() < 2) {
        throw bad_value(place + ": max_position_embeddings", std::to_string(config.positions),
                        std::to_string(config.first_position() + 2) + " or more, for the tokens around a text");
    }
}

}  // namespace hpo::text

namespace hpo::text::detail {

/// Reads the fields of DeBERTa-v3, one of the variants of model_type deberta-v2. A missing field has the default of deberta-v2, which is
/// not that of DeBERTa-v3.
void read_deberta(const ConfigFields& fields, EncoderConfig& config) {
    using nlohmann::json;
    fields.require("relative_attention", {true});
    fields.require("position_biased_input", {false});
    fields.require("share_att_key", {true});
    fields.require("norm_rel_ebd", {"layer_norm"});
    fields.require("pos_att_type", {"p2c|c2p", "c2p|p2c", json::array({"p2c", "c2p"}), json::array({"c2p", "p2c"})});
    fields.refuse_unless("conv_kernel_size", 0);
    fields.refuse_unless("embedding_size", config.hidden);
    fields.refuse_unless("attention_head_size", config.hidden / config.heads);
    config.distances.buckets = std::max<std::int64_t>(fields.whole("position_buckets", {.least = -1, .otherwise = -1}), 0);
    const std::int64_t farthest = fields.whole("max_relative_positions", {.least = -1, .otherwise = -1});
    config.distances.farthest = farthest < 1 ? config.positions : farthest;
}

}  // namespace hpo::text::detail

namespace hpo::text {

EncoderConfig read_encoder_config(const std::filesystem::path& folder) {
    using Family = EncoderConfig::Family;
    using Named = std::pair<std::string_view, Activation>;
    const std::filesystem::path file = folder / "config.json";
    const nlohmann::json document = read_json_file(file);
    const detail::ConfigFields fields{document, file.string()};
    using Type = std::pair<std::string_view, Family>;
    EncoderConfig config{.family = fields.choice<Family>(
                             "model_type", std::array{Type{"bert", Family::bert}, Type{"roberta", Family::roberta},
                                                      Type{"xlm-roberta", Family::roberta}, Type{"deberta-v2", Family::deberta}})};
    const bool deberta = config.family == Family::deberta;
    constexpr std::int64_t most_layers = 1024;
    config.vocabulary = fields.whole("vocab_size", {});
    config.hidden = fields.whole("hidden_size", {});
    config.layers = fields.whole("num_hidden_layers", {.most = most_layers});
    config.heads = fields.whole("num_attention_heads", {});
    config.intermediate = fields.whole("intermediate_size", {});
    config.positions = fields.whole("max_position_embeddings", {});
    config.token_types = fields.whole("type_vocab_size", {.least = deberta ? 0 : 1, .otherwise = deberta ? 0 : 2});
    config.pad = fields.whole("pad_token_id", {.least = 0, .otherwise = config.family == Family::roberta ? 1 : 0});
    config.activation = fields.choice("hidden_act",
                                      std::array{Named{"gelu", Activation::gelu}, Named{"gelu_new", Activation::gelu_tanh},
                                                 Named{"gelu_pytorch_tanh", Activation::gelu_tanh}, Named{"relu", Activation::relu}},
                                      std::optional{Activation::gelu});
    config.layer_norm_epsilon = fields.number("layer_norm_eps", deberta ? 1e-7 : config.layer_norm_epsilon, 1);
    config.hidden_dropout = fields.number("hidden_dropout_prob", config.hidden_dropout, 1);
    config.attention_dropout = fields.number("attention_probs_dropout_prob", config.attention_dropout, 1);
    config.initial_deviation = fields.number("initializer_range", config.initial_deviation, 1);
    fields.refuse_unless("position_embedding_type", "absolute");
    fields.refuse_unless("is_decoder", false);
    if (deberta) detail::read_deberta(fields, config);
    check_sizes(config, file.string());
    return config;
}

}  // namespace hpo::text
