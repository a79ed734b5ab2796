// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/error.hpp"
#include "hpo/text/config_fields.hpp"
#include "hpo/text/json_file.hpp"

namespace hpo::text {

/// What a feed-forward layer bends its values with: GELU by the error function, its approximation by tanh, or ReLU.
enum class Activation { gelu, gelu_tanh, relu };

/// The sizes of a transformer encoder of the BERT family (Devlin et al. 2019; Liu et al. 2019; He et al. 2021).
struct EncoderConfig {
    enum class Family { bert, roberta, deberta };
    /// Which distances between two tokens DeBERTa tells apart: all near ones, and of the others the fewer the farther they are.
    struct Distances {
        std::int64_t buckets = 0;   ///< to either side; 0: one for each distance
        std::int64_t farthest = 0;  ///< distances from it on are one

        [[nodiscard]] std::int64_t to_one_side() const { return buckets > 0 ? buckets : farthest; }
    };

    Family family = Family::bert;
    std::int64_t vocabulary = 0;  ///< ids are below it
    std::int64_t hidden = 0;      ///< numbers for each token; a multiple of `heads`
    std::int64_t layers = 0;
    std::int64_t heads = 0;
    std::int64_t intermediate = 0;  ///< units inside a feed-forward layer
    std::int64_t positions = 0;     ///< rows of the position embeddings; of DeBERTa, which has none, the most that it learnt with
    Distances distances;            ///< of DeBERTa
    std::int64_t token_types = 2;   ///< 0: none
    std::int64_t pad = 0;
    Activation activation = Activation::gelu;
    double layer_norm_epsilon = 1e-12;
    double hidden_dropout = 0.1;
    double attention_dropout = 0.1;
    double initial_deviation = 0.02;  ///< of weights that are drawn

    /// The position of a text's first id. RoBERTa's begin after the row that stands for padding.
    [[nodiscard]] std::int64_t first_position() const { return family == Family::roberta ? pad + 1 : 0; }
    /// The most ids that a text may have.
    [[nodiscard]] std::int64_t longest() const { return positions - first_position(); }
};

/// Throws Error naming the place when the sizes do not fit each other.
inline void check_sizes(const EncoderConfig& config, const std::string& place) {
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

namespace detail {

/// Of the variants that model_type deberta-v2 has, DeBERTa-v3's is read. What a file leaves out is not DeBERTa-v3's.
inline void read_deberta(const ConfigFields& fields, EncoderConfig& config) {
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

}  // namespace detail

/// The encoder that a model folder's `config.json` describes: model_type "bert", "roberta", "xlm-roberta" or "deberta-v2" (DeBERTa-v3 has
/// it). Throws Error naming file and field.
[[nodiscard]] inline EncoderConfig read_encoder_config(const std::filesystem::path& folder) {
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
