// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace hpo::text {

/// The activation function of a feed-forward layer: GELU by the error function, its approximation by tanh, or ReLU.
enum class Activation { gelu, gelu_tanh, relu };

/// The sizes of a transformer encoder of the BERT family (Devlin et al. 2019; Liu et al. 2019; He et al. 2021).
struct EncoderConfig {
    enum class Family { bert, roberta, deberta };
    /// How DeBERTa groups the distances between two tokens. Near distances have a bucket each. Farther distances share ever larger buckets.
    struct Distances {
        std::int64_t buckets = 0;   ///< on each side; 0: one for each distance
        std::int64_t farthest = 0;  ///< this distance and all farther ones count as the same

        [[nodiscard]] std::int64_t to_one_side() const { return buckets > 0 ? buckets : farthest; }
    };

    Family family = Family::bert;
    std::int64_t vocabulary = 0;  ///< all ids are below it
    std::int64_t hidden = 0;      ///< numbers for each token; a multiple of `heads`
    std::int64_t layers = 0;
    std::int64_t heads = 0;
    std::int64_t intermediate = 0;  ///< units inside a feed-forward layer
    std::int64_t positions = 0;     ///< rows of the position embeddings; DeBERTa has none: the longest text of its training
    Distances distances;            ///< only for DeBERTa
    std::int64_t token_types = 2;   ///< 0: none
    std::int64_t pad = 0;
    Activation activation = Activation::gelu;
    double layer_norm_epsilon = 1e-12;
    double hidden_dropout = 0.1;
    double attention_dropout = 0.1;
    double initial_deviation = 0.02;  ///< standard deviation of new random weights

    /// The position of a text's first id. In RoBERTa, positions begin after the row for padding.
    [[nodiscard]] std::int64_t first_position() const { return family == Family::roberta ? pad + 1 : 0; }
    /// The most ids that a text may have.
    [[nodiscard]] std::int64_t longest() const { return positions - first_position(); }
};

/// Throws Error that names the place if the sizes do not fit each other.
void check_sizes(const EncoderConfig& config, const std::string& place);

/// The encoder that a model folder's `config.json` describes. Its model_type is "bert", "roberta", "xlm-roberta" or "deberta-v2", which
/// DeBERTa-v3 has too. Throws Error that names file and field.
[[nodiscard]] EncoderConfig read_encoder_config(const std::filesystem::path& folder);

}  // namespace hpo::text
