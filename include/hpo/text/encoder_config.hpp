// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/error.hpp"
#include "hpo/text/json_file.hpp"

namespace hpo::text {

/// What a feed-forward layer bends its values with: GELU by the error function, its approximation by tanh, or ReLU.
enum class Activation { gelu, gelu_tanh, relu };

/// The sizes of a transformer encoder of the BERT family (Devlin et al. 2019; Liu et al. 2019).
struct EncoderConfig {
    enum class Family { bert, roberta };

    Family family = Family::bert;
    std::int64_t vocabulary = 0;  ///< ids are below it
    std::int64_t hidden = 0;      ///< numbers for each token; a multiple of `heads`
    std::int64_t layers = 0;
    std::int64_t heads = 0;
    std::int64_t intermediate = 0;  ///< units inside a feed-forward layer
    std::int64_t positions = 0;     ///< rows of the position embeddings
    std::int64_t token_types = 2;
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
    if (config.longest() < 2) {
        throw bad_value(place + ": max_position_embeddings", std::to_string(config.positions),
                        std::to_string(config.first_position() + 2) + " or more, for the tokens around a text");
    }
}

namespace detail {

/// The fields of a `config.json`; null is as if a field were not there.
class ConfigFields {
public:
    ConfigFields(const nlohmann::json& document, std::string place) : document_{document}, place_{std::move(place)} {}

    struct Whole {
        std::int64_t least = 1;
        std::int64_t most = std::int64_t{1} << 24;
        std::optional<std::int64_t> otherwise = std::nullopt;  ///< nothing: the field must be there
    };
    [[nodiscard]] std::int64_t whole(const char* key, const Whole& range) const {
        const std::string expected = "a whole number from " + std::to_string(range.least) + " to " + std::to_string(range.most);
        const nlohmann::json* value = find(key);
        if (value == nullptr) {
            if (range.otherwise) return *range.otherwise;
            throw bad_value(at(key), "nothing", expected);
        }
        const bool counts = value->is_number_unsigned() && value->get<std::uint64_t>() <= static_cast<std::uint64_t>(range.most);
        if (!counts || value->get<std::int64_t>() < range.least) throw bad_value(at(key), shown(*value), expected);
        return value->get<std::int64_t>();
    }
    /// A number from 0 on that is less than `limit`.
    [[nodiscard]] double number(const char* key, double otherwise, double limit) const {
        const nlohmann::json* value = find(key);
        if (value == nullptr) return otherwise;
        const double read = value->is_number() ? value->get<double>() : std::numeric_limits<double>::quiet_NaN();
        if (!(read >= 0 && read < limit)) {
            throw bad_value(at(key), shown(*value), "a number from 0 on that is less than " + std::to_string(static_cast<int>(limit)));
        }
        return read;
    }
    /// The choice that the field names.
    template <class Choice, std::size_t size>
    [[nodiscard]] Choice choice(const char* key, const std::array<std::pair<std::string_view, Choice>, size>& choices,
                                std::optional<Choice> otherwise = std::nullopt) const {
        const nlohmann::json* value = find(key);
        if (value == nullptr && otherwise) return *otherwise;
        std::vector<std::string> known;
        for (const auto& [name, choice] : choices) {
            if (value != nullptr && *value == name) return choice;
            known.emplace_back(name);
        }
        if (value == nullptr || !value->is_string())
            throw bad_value(at(key), value ? shown(*value) : "nothing", "one of " + join_names(known));
        throw unknown_name(place_, key, value->template get<std::string>(), known);
    }
    /// Throws Error when the field asks for what no encoder here has.
    void refuse_unless(const char* key, const nlohmann::json& supported) const {
        const nlohmann::json* value = find(key);
        if (value != nullptr && *value != supported) throw bad_value(at(key), shown(*value), supported.dump() + ", all that is supported");
    }

private:
    [[nodiscard]] std::string at(const char* key) const { return place_ + ": " + key; }
    [[nodiscard]] static std::string shown(const nlohmann::json& value) {
        constexpr std::size_t most = 60;
        const std::string text = value.dump(-1, ' ', true);
        return text.size() <= most ? text : text.substr(0, most) + "...";
    }
    [[nodiscard]] const nlohmann::json* find(const char* key) const {
        const auto found = document_.find(key);
        return found == document_.end() || found->is_null() ? nullptr : &*found;
    }

    const nlohmann::json& document_;
    std::string place_;
};

}  // namespace detail

/// The encoder that a model folder's `config.json` describes: model_type "bert" or "roberta". Throws Error naming file and field.
[[nodiscard]] inline EncoderConfig read_encoder_config(const std::filesystem::path& folder) {
    using Family = EncoderConfig::Family;
    using Named = std::pair<std::string_view, Activation>;
    const std::filesystem::path file = folder / "config.json";
    const nlohmann::json document = read_json_file(file);
    const detail::ConfigFields fields{document, file.string()};
    EncoderConfig config{.family =
                             fields.choice<Family>("model_type", std::array{std::pair{std::string_view{"bert"}, Family::bert},
                                                                            std::pair{std::string_view{"roberta"}, Family::roberta}})};
    constexpr std::int64_t most_layers = 1024;
    config.vocabulary = fields.whole("vocab_size", {});
    config.hidden = fields.whole("hidden_size", {});
    config.layers = fields.whole("num_hidden_layers", {.most = most_layers});
    config.heads = fields.whole("num_attention_heads", {});
    config.intermediate = fields.whole("intermediate_size", {});
    config.positions = fields.whole("max_position_embeddings", {});
    config.token_types = fields.whole("type_vocab_size", {.otherwise = 2});
    config.pad = fields.whole("pad_token_id", {.least = 0, .otherwise = config.family == Family::roberta ? 1 : 0});
    config.activation = fields.choice("hidden_act",
                                      std::array{Named{"gelu", Activation::gelu}, Named{"gelu_new", Activation::gelu_tanh},
                                                 Named{"gelu_pytorch_tanh", Activation::gelu_tanh}, Named{"relu", Activation::relu}},
                                      std::optional{Activation::gelu});
    config.layer_norm_epsilon = fields.number("layer_norm_eps", config.layer_norm_epsilon, 1);
    config.hidden_dropout = fields.number("hidden_dropout_prob", config.hidden_dropout, 1);
    config.attention_dropout = fields.number("attention_probs_dropout_prob", config.attention_dropout, 1);
    config.initial_deviation = fields.number("initializer_range", config.initial_deviation, 1);
    fields.refuse_unless("position_embedding_type", "absolute");
    fields.refuse_unless("is_decoder", false);
    check_sizes(config, file.string());
    return config;
}

}  // namespace hpo::text
